// The browser's part. Every page and every button works without it. It keeps the page current while somebody looks, adds
// keys, asks before an action without leaving the page, and sends the reader's time zone to the server.
(() => {
  const { htmx } = window;
  const { base, zone } = document.body.dataset;
  const byId = id => document.getElementById(id);
  const main = () => byId('main');
  const under = path => base.replace(/\/$/, '') + path;

  // Live updates ------------------------------------------------------------------------------------
  const RETRY_MS = 5000;
  const MAX_MS = 60_000;
  let timer;
  let failures = 0;
  let isBusy = false;
  let isOver = false;

  // What the reader did to the page stays: an open part, the marked row.
  htmx?.config.morphIgnore.push('open', 'data-cursor');

  const isWatched = () => !document.hidden && document.hasFocus();
  const isInUse = () =>
    main().contains(document.activeElement?.closest('input, select, textarea')) ||
    !(getSelection()?.isCollapsed ?? true) ||
    document.querySelector('dialog[open]') !== null;

  function say(text) {
    byId('notice').textContent = text;
  }

  function show() {
    const live = byId('live');
    if (!live || main().dataset.live === undefined || !htmx) return;
    live.hidden = false;
    live.classList.toggle('paused', isOver || !isWatched());
    live.textContent = isOver ? 'stopped' : isWatched() ? 'live' : 'paused';
  }

  function plan() {
    clearTimeout(timer);
    show();
    const seconds = Number(main().dataset.live);
    if (!(seconds > 0) || isOver || !isWatched() || !htmx) return;
    const ms = failures === 0 ? seconds * 1000 : Math.min(RETRY_MS * failures, MAX_MS);
    timer = setTimeout(() => void refresh(), ms);
  }

  async function merge(text) {
    for (const id of ['pages', 'main'])
      await htmx.swap({ text, target: byId(id), select: `#${id}`, swap: 'outerMorph' });
  }

  async function refresh({ force = false } = {}) {
    clearTimeout(timer);
    if (isBusy || isOver || !htmx) return;
    if (!force && (!isWatched() || isInUse())) return plan();
    isBusy = true;
    try {
      const answer = await fetch(location.pathname + location.search, {
        headers: { 'hx-request': 'true' },
        redirect: 'manual',
        signal: AbortSignal.timeout(30_000),
      });
      if (answer.status === 401 || answer.type === 'opaqueredirect') {
        isOver = true;
        say('Your session has ended, so this page is no longer updated. Reload it to sign in again.');
      } else if (answer.status === 404 || answer.status === 410) {
        isOver = true;
        say('What this page shows has been removed. It is no longer updated.');
      } else if (answer.ok) {
        await merge(await answer.text());
        failures = 0;
        say('');
      } else {
        failures++;
        say(
          'The database cannot be reached at the moment. This page shows what was true before, and tries again.',
        );
      }
    } catch {
      failures++;
      say('The dashboard does not answer: perhaps it was stopped. This page tries again.');
    } finally {
      isBusy = false;
      plan();
    }
  }

  const onWatch = () => {
    if (isWatched() && main().dataset.live !== undefined) void refresh();
    else plan();
  };
  document.addEventListener('visibilitychange', onWatch);
  addEventListener('focus', onWatch);
  addEventListener('blur', plan);
  plan();

  // The reader's zone -------------------------------------------------------------------------------
  const here = new Intl.DateTimeFormat().resolvedOptions().timeZone;
  if (here && here !== zone && navigator.cookieEnabled && !document.cookie.includes(`tock-zone=${here}`)) {
    document.cookie = `tock-zone=${here}; path=${base}; max-age=31536000; samesite=lax`;
    if (main().dataset.live !== undefined) void refresh({ force: true });
  }

  // Asking first ------------------------------------------------------------------------------------
  document.addEventListener('submit', event => {
    const form = event.target;
    const field = name => form.elements.namedItem(`confirm-${name}`);
    const dialog = byId('confirm');
    if (!field('action') || !dialog?.showModal) return;
    event.preventDefault();
    dialog.querySelector('h2').textContent = `${field('verb').value}?`;
    dialog.querySelector('p').textContent = field('text').value;
    dialog.querySelector('[value=yes]').textContent = field('verb').value;
    dialog.querySelector('[value=no]').textContent = field('keep').value;
    const onClose = () => {
      if (dialog.returnValue !== 'yes') return;
      form.action = under(field('action').value);
      for (const name of ['action', 'verb', 'keep', 'text', 'back']) field(name)?.remove();
      form.submit();
    };
    dialog.addEventListener('close', onClose, { once: true });
    dialog.returnValue = '';
    dialog.showModal();
  });
  // A button that was pressed once is not pressed twice.
  document.addEventListener('submit', event => {
    if (event.defaultPrevented || event.target.method !== 'post') return;
    setTimeout(() => event.submitter && (event.submitter.disabled = true));
  });
  addEventListener('pageshow', () => {
    for (const button of document.querySelectorAll('button[disabled]:not([data-off])'))
      button.disabled = false;
  });

  // Keys --------------------------------------------------------------------------------------------
  const CHORD_MS = 1500;
  let chordUntil = 0;

  function move(step) {
    const rows = [...main().querySelectorAll('tbody tr, [data-row]')].filter(row => row.querySelector('a'));
    if (rows.length === 0) return;
    const at = rows.findIndex(row => row.hasAttribute('data-cursor'));
    const next =
      rows[at < 0 ? (step > 0 ? 0 : rows.length - 1) : Math.max(0, Math.min(rows.length - 1, at + step))];
    rows[at]?.removeAttribute('data-cursor');
    next.setAttribute('data-cursor', '');
    next.querySelector('a').focus({ preventScroll: true });
    next.scrollIntoView({ block: 'nearest' });
  }

  function search() {
    const field = main().querySelector('[data-search]');
    const runs = document.querySelector('nav a[data-key="r"]');
    if (field) field.focus();
    else if (runs) location.href = `${runs.href}#search`;
  }
  if (location.hash === '#search') main().querySelector('[data-search]')?.focus();

  document.addEventListener('keydown', event => {
    if (event.ctrlKey || event.metaKey || event.altKey || event.isComposing) return;
    if (event.target.closest('input, select, textarea, [contenteditable]')) {
      if (event.key === 'Escape') event.target.blur();
      return;
    }
    if (document.querySelector('dialog[open]')) return;
    const isChord = event.timeStamp < chordUntil;
    chordUntil = 0;
    if (isChord) {
      const link = document.querySelector(`nav a[data-key="${CSS.escape(event.key)}"]`);
      if (link) location.href = link.href;
      return;
    }
    const actions = {
      '/': search,
      '?': () => byId('help')?.showModal(),
      j: () => move(1),
      k: () => move(-1),
      g: () => {
        chordUntil = event.timeStamp + CHORD_MS;
      },
    };
    if (!Object.hasOwn(actions, event.key)) return;
    event.preventDefault();
    actions[event.key]();
  });
})();
