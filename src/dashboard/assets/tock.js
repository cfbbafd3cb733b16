// The browser's part: everything works without it.
