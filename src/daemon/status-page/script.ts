/**
 * The pages' whole script. It copies what stands in a box, and renews the page in place: what somebody has opened, chosen or written
 * stays as it is. Without it, a meta element loads the page anew.
 */
export const SCRIPT = `
"use strict";
document.documentElement.classList.add("scripted");

document.addEventListener("click", (event) => {
  const button = event.target.closest("button.copy");
  if (!button) return;
  getSelection().selectAllChildren(button.previousElementSibling);
  // The clipboard of navigator is missing on a page without TLS.
  button.textContent = document.execCommand("copy") ? "Copied" : "Selected";
});

/** Makes the old node like the new one, and keeps all that can stay. */
function become(old, next) {
  if (old.nodeType === Node.TEXT_NODE) {
    if (old.data !== next.data) old.data = next.data;
    return;
  }
  // Whether it is open is the reader's choice.
  const mayDiffer = (name) => name === "open";
  for (const { name, value } of [...next.attributes])
    if (!mayDiffer(name) && old.getAttribute(name) !== value) old.setAttribute(name, value);
  for (const { name } of [...old.attributes])
    if (!mayDiffer(name) && !next.hasAttribute(name)) old.removeAttribute(name);
  const wanted = new Set([...next.children].map((child) => child.id));
  let at = old.firstChild;
  for (const child of [...next.childNodes]) {
    // What has an id and is gone makes way, so that nothing that stays has to move.
    while (at && at.id && !wanted.has(at.id)) at = removed(at);
    const same = child.id ? [...old.children].find(({ id }) => id === child.id) : at;
    if (same && same.nodeName === child.nodeName && (same.id || "") === (child.id || "")) {
      if (same === at) at = at.nextSibling;
      else old.insertBefore(same, at);
      become(same, child);
    } else old.insertBefore(child, at);
  }
  while (at) at = removed(at);
}

function removed(node) {
  const next = node.nextSibling;
  node.remove();
  return next;
}

let renewedAt = Date.now();
const seconds = () => Number(document.body.dataset.refresh);

async function renew() {
  try {
    const answer = await fetch(location.href, { signal: AbortSignal.timeout(10000) });
    if (!answer.ok) throw new Error(answer.status);
    const next = new DOMParser().parseFromString(await answer.text(), "text/html");
    const isOther = (name) => next.querySelector(name).textContent !== document.querySelector(name).textContent;
    // Another version of groupsync.
    if (isOther("script") || isOther("style")) return location.reload();
    const focused = document.activeElement;
    document.title = next.title;
    document.querySelector("link").href = next.querySelector("link").href;
    become(document.body, next.body);
    if (focused !== document.activeElement && focused.isConnected) focused.focus({ preventScroll: true });
    renewedAt = Date.now();
  } catch {
    // The line below says for how long.
  }
  setTimeout(renew, seconds() * 1000);
}

if (seconds()) {
  setTimeout(renew, seconds() * 1000);
  setInterval(() => {
    const age = Math.round((Date.now() - renewedAt) / 1000);
    const line = document.getElementById("late");
    line.hidden = age < seconds() + 10;
    line.textContent = "Not updated for " + age + " s: groupsync does not answer";
  }, 1000);
}
`;
