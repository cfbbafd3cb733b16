// vitepress makes its search box a button that holds a list box that holds links, which screen readers cannot read.
// Here it is a dialog with a list of links. The arrow keys work as before.

/** Attributes that claim what is not so, by where they are. */
const WRONG = {
  ul: ['role', 'aria-labelledby'],
  li: ['role', 'aria-selected'],
  'a.result': ['aria-label'],
  kbd: ['aria-label'],
};

export function repairSearchBox() {
  new MutationObserver(changes => {
    for (const { addedNodes } of changes)
      for (const node of addedNodes)
        if (node instanceof Element && node.matches('.VPLocalSearchBox')) makeDialog(node);
  }).observe(document.body, { childList: true });
}

function makeDialog(box) {
  for (const name of ['aria-expanded', 'aria-haspopup', 'aria-labelledby']) box.removeAttribute(name);
  box.setAttribute('role', 'dialog');
  box.setAttribute('aria-modal', 'true');
  box.setAttribute('aria-label', 'Search');
  removeWrong(box);
  new MutationObserver(() => removeWrong(box)).observe(box, {
    subtree: true,
    childList: true,
    attributeFilter: ['role', 'aria-selected', 'aria-label'],
  });
}

function removeWrong(box) {
  for (const [selector, names] of Object.entries(WRONG))
    for (const name of names)
      for (const element of box.querySelectorAll(`${selector}[${name}]`)) element.removeAttribute(name);
}
