// vitepress makes its search box a button that holds other controls, which screen readers cannot read. It is a dialog.
export function nameSearchBox() {
  new MutationObserver(changes => {
    for (const { addedNodes } of changes)
      for (const node of addedNodes)
        if (node instanceof Element && node.matches('.VPLocalSearchBox')) makeDialog(node);
  }).observe(document.body, { childList: true });
}

function makeDialog(box) {
  box.setAttribute('role', 'dialog');
  box.setAttribute('aria-modal', 'true');
  box.setAttribute('aria-label', 'Search');
  for (const name of ['aria-expanded', 'aria-haspopup', 'aria-labelledby']) box.removeAttribute(name);
}
