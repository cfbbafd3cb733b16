// The browser's part. Every page and every button works without it. It keeps the page current while somebody looks, adds
// keys, asks before an action without leaving the page, and sends the reader's time zone to the server.
(() => {
  const { htmx } = window;
  const { base, zone } = document.body.dataset;
  const byId = id => document.getElementById(id);
  const main = () => byId('main');
  const under = path => base.replace(/\/$/, '') + path;

  // Live updates ------------------------------------------------------------------------------------
  // A stream says when there is something new; then the page is fetched. Where no stream can be had, as behind a
  // proxy that holds it back, the page is fetched every few seconds.
  const RETRY_MS = 5000;
  const MAX_MS = 60_000;
  /** The first fetch after a quiet time comes at once, the next ones at distances that grow from this. */
  const FIRST_MS = 250;
  /** A stream tells every fifteen seconds that it is alive. */
  const SILENT_MS = 40_000;
  const now = () => performance.now();
  const liveMs = () => Number(main().dataset.live) * 1000;
  const firstMs = () => Math.max(FIRST_MS, liveMs() / 8 || 0);
  const isStale = () => main().dataset.stale !== undefined;
  let timer;
  let failures = 0;
  let isBusy = false;
  let isOver = false;
  let stream = null;
  let isHeard = false;
  let heardAt = 0;
  let refusedAt = -MAX_MS;
  /** Where a stream was never heard, the next is tried after twice the time. */
  let retryMs = MAX_MS;
  let fetchedAt = now();
  let distanceMs = firstMs();
  let hasNews = isStale();
  let mergedAt = Date.now();

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
    const isLost = failures > 0 && !isOver;
    live.classList.toggle('paused', isOver || (!isWatched() && !isLost));
    live.classList.toggle('lost', isLost);
    live.title = isHeard ? 'is told what changes' : '';
    live.textContent = isOver ? 'stopped' : isLost ? 'not reached' : isWatched() ? 'live' : 'paused';
  }

  const isLive = () => liveMs() > 0 && !isOver && isWatched() && Boolean(htmx);

  function leave() {
    stream?.close();
    stream = null;
    isHeard = false;
  }

  function follow() {
    if (!isLive() || failures > 0 || !main().dataset.seen) return leave();
    if (stream && now() - heardAt > SILENT_MS) {
      if (!isHeard) retryMs *= 2;
      leave();
      refusedAt = now();
    }
    if (stream || now() - refusedAt < retryMs) return;
    const mine = new EventSource(`${under('/live')}?seen=${main().dataset.seen}`);
    const hear = ({ type }) => {
      isHeard = true;
      retryMs = MAX_MS;
      heardAt = now();
      hasNews ||= type === 'changed';
      plan();
    };
    mine.addEventListener('alive', hear);
    mine.addEventListener('changed', hear);
    mine.addEventListener('error', () => {
      isHeard = false;
      // Else the browser connects again by itself.
      if (mine.readyState === EventSource.CLOSED && stream === mine) {
        leave();
        refusedAt = now();
      }
      plan();
    });
    stream = mine;
    heardAt = now();
  }

  function plan() {
    clearTimeout(timer);
    follow();
    show();
    if (!isLive()) return;
    let dueAt = fetchedAt + liveMs();
    if (failures > 0) dueAt = fetchedAt + Math.min(RETRY_MS * failures, MAX_MS);
    else if (isInUse()) dueAt = now() + liveMs();
    else if (isHeard) dueAt = hasNews ? fetchedAt + distanceMs : heardAt + SILENT_MS + 1;
    const isWaiting = isHeard && !hasNews && failures === 0;
    timer = setTimeout(() => (isWaiting ? plan() : void refresh()), Math.max(0, dueAt - now()));
  }

  async function merge(text) {
    for (const id of ['pages', 'main'])
      await htmx.swap({ text, target: byId(id), select: `#${id}`, swap: 'outerMorph' });
    mergedAt = Date.now();
    hasNews ||= isStale();
  }

  async function refresh({ force = false } = {}) {
    clearTimeout(timer);
    if (isBusy || isOver || !htmx) return;
    if (!force && (!isWatched() || isInUse())) return plan();
    isBusy = true;
    const isQuiet = now() - fetchedAt > 2 * liveMs();
    distanceMs = isQuiet ? firstMs() : Math.min(distanceMs * 2, liveMs());
    hasNews = false;
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
        const text = await answer.text();
        // The reader may have begun to type, or opened a question, since it was asked for.
        if (isInUse()) hasNews = true;
        else await merge(text);
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
      fetchedAt = now();
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

  // How long ago, while the page stands -------------------------------------------------------------
  function span(ms) {
    const seconds = Math.round(ms / 1000);
    if (seconds >= 2_592_000) return `${Math.round(seconds / 86_400)}d`;
    const parts = [
      [Math.floor(seconds / 86_400), 'd'],
      [Math.floor(seconds / 3600) % 24, 'h'],
      [Math.floor(seconds / 60) % 60, 'm'],
      [seconds % 60, 's'],
    ];
    const first = parts.findIndex(([count]) => count > 0);
    return parts
      .slice(first, first + 2)
      .filter(([count]) => count > 0)
      .map(part => part.join(''))
      .join(' ');
  }
  function ago(ms) {
    if (Math.abs(ms) < 1000) return 'now';
    return ms > 0 ? `in ${span(ms)}` : `${span(-ms)} ago`;
  }
  // Each time that the text of a status is set, a screen reader reads it aloud.
  function put(each, text) {
    if (each.textContent !== text && !each.closest('[role=status]')) each.textContent = text;
  }
  setInterval(() => {
    if (!isLive() || isInUse() || failures > 0 || !main().dataset.now) return;
    const at = Number(main().dataset.now) + Date.now() - mergedAt;
    for (const each of main().querySelectorAll('[data-at]')) put(each, ago(each.dataset.at - at));
    for (const each of main().querySelectorAll('[data-since]'))
      if (at - each.dataset.since >= 1000) put(each, span(at - each.dataset.since));
  }, 1000);

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
