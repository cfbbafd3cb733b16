export function chart() { return ''; }
