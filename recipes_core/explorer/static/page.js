// What the page as a whole does: its address, the session, copying, downloads, hints beside the axes, shortcuts.

const PREFIX = "recipes-explorer:";

async function copyText(text) {
  if (navigator.clipboard && window.isSecureContext) {
    try {
      await navigator.clipboard.writeText(text);
      return true;
    } catch {
      // Refused (no permission): the fallback below still works.
    }
  }
  const area = document.createElement("textarea");
  area.value = text;
  area.setAttribute("readonly", "");
  area.style.cssText = "position:fixed;top:0;left:-200vw;";
  document.body.append(area);
  const before = document.activeElement;
  area.select();
  const done = document.execCommand("copy");
  area.remove();
  before?.focus?.();
  return done;
}

function select(button) {
  const shown = button.closest(".rx-copyable, .rx-block-title, .rx-command");
  const block = shown?.matches(".rx-block-title") ? shown.nextElementSibling : shown?.querySelector("pre");
  if (block) getSelection().selectAllChildren(block);
}

async function copied({ say }, button, text) {
  const done = await copyText(text);
  const label = button.dataset.rxLabel || (button.dataset.rxLabel = button.textContent);
  if (!done) select(button);
  button.textContent = done ? "Copied" : "Press Ctrl+C";
  say(done ? "Copied" : "The browser refused to copy; the text is selected");
  clearTimeout(button.rxTimer);
  button.rxTimer = setTimeout(() => (button.textContent = label), 1500);
}

// The page's address and title follow the configuration, which is said aloud.
function keepAddress(page) {
  const { model, voila, say } = page;
  page.address = () => {
    const query = model.get("query");
    if (!voila) return query;
    const theme = new URLSearchParams(location.search).get("theme");
    const rest = theme ? `&theme=${encodeURIComponent(theme)}` : "";
    return `${location.pathname}?${query}${rest}`;
  };
  function writeAddress() {
    if (voila && model.get("query")) history.replaceState(history.state, "", page.address());
    if (voila && model.get("title")) document.title = model.get("title");
  }
  model.on("change:query", writeAddress);
  model.on("change:title", writeAddress);
  model.on("change:announce", () => say(model.get("announce")));
  writeAddress();
}

// Hints beside the axes, which the widgets themselves cannot show.
function hintAxes(page) {
  const { model, el, root, signal } = page;
  function decorate() {
    const hints = model.get("hints");
    for (const [name, text] of Object.entries(hints)) {
      const box = root().querySelector(`.rx-axis-${name}`);
      const field = box?.querySelector("select, input");
      if (!field) continue;
      let hint = box.querySelector(".rx-hint");
      if (!hint) {
        hint = document.createElement("div");
        hint.className = "rx-hint";
        hint.id = `rx-hint-${name}-${Math.random().toString(36).slice(2, 8)}`;
        box.append(hint);
        field.setAttribute("aria-describedby", hint.id);
      }
      writeHint(hint, text);
    }
  }
  // The rarer axes unfold below the button, maybe out of sight.
  let unfolded = false;
  function reveal() {
    const fold = root().querySelector(".rx-axes > .rx-fold");
    const open = !!root().querySelector(".rx-axes > .rx-more.rx-open");
    fold?.setAttribute("aria-expanded", String(open));
    if (open && !unfolded) {
      const axes = fold.closest(".rx-axes");
      axes.scrollTop += fold.getBoundingClientRect().top - axes.getBoundingClientRect().top - 8;
    }
    unfolded = open;
  }
  let queued = false;
  let watched = null;
  const observer = new MutationObserver(() => {
    if (!queued) {
      queued = true;
      requestAnimationFrame(() => {
        queued = false;
        watch();
        decorate();
        reveal();
      });
    }
  });
  // The axes come after the command: until they are there, the whole page is watched for them.
  function watch() {
    const place = root().querySelector(".rx-axes") || el.closest(".rx-root");
    if (!place || place === watched) return;
    observer.disconnect();
    observer.observe(place, { childList: true, subtree: true, attributeFilter: ["class"] });
    watched = place;
  }
  model.on("change:hints", () => {
    watch();
    decorate();
  });
  requestAnimationFrame(() => {
    watch();
    decorate();
    reveal();
  });
  signal.addEventListener("abort", () => observer.disconnect());
}

// Finding a model: from the search to the list by keys; on a narrow page the list closes when one is chosen.
function findByKeys(page) {
  const { root, on } = page;
  page.unfold = (name, open) => {
    const isOpen = root().querySelector(`.rx-${name}`)?.classList.toggle("rx-open", open);
    root().querySelector(`[data-rx-toggle="${name}"]`)?.setAttribute("aria-expanded", String(isOpen));
  };
  let byKey = false;
  function searchKey(event) {
    byKey = true;
    const search = event.target.closest?.(".rx-search");
    const list = search && root().contains(search) && root().querySelector(".rx-models select");
    if (!list || !["ArrowDown", "Enter"].includes(event.key)) return;
    event.preventDefault();
    if (event.key === "ArrowDown") {
      list.focus();
    } else {
      openFirst(event.target);
    }
  }
  // Enter may come before the list of the last keystroke: its first model is another one.
  function openFirst(field, tries = 100) {
    const list = root().querySelector(".rx-models select");
    const of = root().querySelector(".rx-count-row")?.dataset.rxOf;
    if (of !== field.value.slice(0, 200) && tries > 0) {
      setTimeout(openFirst, 30, field, tries - 1);
    } else if (list?.options.length) {
      list.selectedIndex = 0;
      list.dispatchEvent(new Event("change", { bubbles: true }));
    }
  }
  on(document, "keydown", searchKey, true); // The field keeps its keys to itself.
  on(document, "pointerdown", () => (byKey = false));
  on(document, "change", (event) => {
    const models = root().querySelector("[data-rx-toggle=find]");
    if (byKey || !event.target.closest?.(".rx-models") || !models?.checkVisibility()) return;
    page.unfold("find", false);
    models.focus();
    root().querySelector(".rx-head")?.scrollIntoView({ block: "nearest" });
  });
  on(document, "keydown", (event) => {
    const typing = /^(INPUT|TEXTAREA|SELECT)$/.test(event.target.tagName) || event.target.isContentEditable;
    if (event.key === "/" && !typing && page.voila) {
      event.preventDefault();
      page.unfold("find", true);
      root().querySelector(".rx-search input")?.focus();
    }
  });
}

// The answer draws its table anew, and with it the button that was pressed.
function keepFocus(button, tries = 8) {
  const panel = button.closest(".rx-panel, .rx-head");
  const { rxSend, rxValue } = button.dataset;
  const look = () => {
    if (button.isConnected && tries-- > 0) return setTimeout(look, 80);
    if (button.isConnected || document.activeElement !== document.body) return;
    const same = [...(panel?.querySelectorAll(`[data-rx-send="${rxSend}"]`) ?? [])];
    const next = same.find((other) => other.dataset.rxValue === rxValue) ?? same[0];
    (next ?? panel?.querySelector("button, input, select"))?.focus();
  };
  setTimeout(look, 80);
}

// What buttons do by their data: copy, fold, change the theme, send.
function followClicks(page) {
  const { model, root, on, voila } = page;
  on(document, "click", (event) => {
    const button = event.target.closest?.("button, a");
    if (!button || !root().contains(button)) return;
    if (button.matches(".rx-prose a[href^='http']")) {
      // A guide's link must not take the page, and with it the session, away.
      button.target = "_blank";
      button.rel = "noopener noreferrer";
      return;
    }
    if ("rxCopy" in button.dataset) {
      const source = button.dataset.rxCopy && root().querySelector(button.dataset.rxCopy);
      const near = button.closest(".rx-copyable")?.querySelector("pre, code");
      copied(page, button, button.rxText ? button.rxText() : (source || near)?.textContent ?? "");
    } else if ("rxCopyLink" in button.dataset) {
      copied(page, button, voila ? new URL(page.address(), location.href).href : model.get("query"));
    } else if ("rxToggle" in button.dataset) {
      page.unfold(button.dataset.rxToggle);
    } else if ("rxTheme" in button.dataset && voila) {
      const params = new URLSearchParams(location.search);
      params.set("theme", document.body.dataset.jpThemeLight === "false" ? "light" : "dark");
      location.search = params.toString();
    } else if ("rxSend" in button.dataset) {
      model.send({ kind: button.dataset.rxSend, value: button.dataset.rxValue ?? "" });
      keepFocus(button);
    }
  });
}

// A panel draws its figures anew after each choice; what the reader unfolded in it stays so, and
// a table stays where it was scrolled to.
function keepLooks(page) {
  const { root, on, signal } = page;
  const unfoldedParts = new Set();
  const scrolledTo = new Map();
  const panels = new MutationObserver(() => {
    for (const part of root().querySelectorAll(".rx-panel-place details:not([open])")) {
      if (unfoldedParts.has(part.firstElementChild?.textContent)) part.open = true;
    }
    for (const table of root().querySelectorAll(".rx-panel-place .rx-scroll")) {
      const left = scrolledTo.get(table.ariaLabel) ?? 0;
      if (left && !table.scrollLeft) table.scrollLeft = left;
    }
  });
  const inPanel = (note) => (event) => {
    const place = event.target.closest?.(".rx-panel-place");
    if (!place || !root().contains(place)) return;
    note(event.target);
    panels.observe(place, { childList: true, subtree: true });
  };
  const noteFold = (part) => {
    const title = part.firstElementChild?.textContent;
    if (part.open) unfoldedParts.add(title);
    else unfoldedParts.delete(title);
  };
  const noteScroll = (part) => {
    if (part.matches(".rx-scroll")) scrolledTo.set(part.ariaLabel, part.scrollLeft);
  };
  on(document, "toggle", inPanel(noteFold), true);
  on(document, "scroll", inPanel(noteScroll), true);
  signal.addEventListener("abort", () => panels.disconnect());
}

// A notice that appears where the reader is not looking is shown where they are.
function tell(page) {
  const { model, root, on, say, toast } = page;
  let fading = null;
  model.on("change:told", () => {
    const text = model.get("told");
    clearTimeout(fading);
    toast.hidePopover();
    if (!text) return;
    fading = setTimeout(() => {
      say(text);
      const place = root().querySelector(".rx-notice-list")?.getBoundingClientRect();
      if (!place || (place.height && place.bottom > 0 && place.top < innerHeight)) return;
      toast.textContent = text;
      toast.showPopover();
      fading = setTimeout(() => toast.hidePopover(), 12000);
    }, 60);
  });
  on(document, "pointerdown", () => toast.hidePopover());
}

// Values that a reload of the page should not lose.
function keepValues(page) {
  const { model, voila } = page;
  const store = `${PREFIX}${model.get("store")}`;
  model.on("change:values", () => {
    try {
      sessionStorage.setItem(store, model.get("values"));
    } catch {
      // Storage may be off; the file that is offered is there for that.
    }
  });
  try {
    const kept = voila && sessionStorage.getItem(store);
    if (kept && kept !== "{}\n") model.send({ kind: "restore", value: kept });
  } catch {
    // As above.
  }
}

// What reloading alone can mend is said, with the way to do it.
function offerReload({ banner }, told) {
  const text = document.createElement("span");
  text.textContent = `${told} `;
  const button = document.createElement("button");
  button.type = "button";
  button.className = "rx-button rx-primary";
  button.textContent = "Reload";
  button.addEventListener("click", () => location.reload());
  banner.replaceChildren(text, button);
  banner.showPopover();
}

// The summary comes by another way than the command and the link. A part that the browser was slow to start is
// handed no message any more (anywidget waits two seconds for it): an old command would stand below a new summary.
function watchCommand(page) {
  const { model, root, on, signal } = page;
  let comparing = null;
  function compare() {
    const newest = root().querySelector(".rx-status-line [data-revision]")?.dataset.revision;
    const command = root().querySelector(".rx-command")?.dataset.revision;
    if (!newest || (command === newest && String(model.get("revision")) === newest)) return;
    offerReload(page, "This page lost your choice on the way: its command or its link is an older one.");
  }
  const changes = new MutationObserver(() => {
    clearTimeout(comparing);
    comparing = setTimeout(compare, 1000);
  });
  const watch = () => {
    const line = root().querySelector(".rx-status-line");
    if (line) changes.observe(line, { childList: true, subtree: true });
  };
  for (const name of ["change", "click", "keydown"]) on(document, name, watch, true);
  signal.addEventListener("abort", () => changes.disconnect());
}

// Is the session still there? Asked when the page is looked at again and at the first use after a pause.
function watchSession(page) {
  const { model, on, banner } = page;
  let waiting = null;
  let asked = Date.now();
  function ended() {
    waiting = null;
    offerReload(page, "The session has ended. Reloading opens the same configuration again.");
  }
  function ask() {
    if (waiting || banner.matches(":popover-open")) return;
    asked = Date.now();
    waiting = setTimeout(ended, 6000);
    try {
      model.send({ kind: "alive" });
    } catch {
      clearTimeout(waiting);
      ended();
    }
  }
  model.on("msg:custom", (message) => {
    if (message.kind !== "alive") return;
    clearTimeout(waiting);
    waiting = null;
  });
  on(document, "visibilitychange", () => document.visibilityState === "visible" && ask());
  on(document, "pointerdown", () => Date.now() - asked > 60000 && ask());
  on(document, "keydown", () => Date.now() - asked > 60000 && ask());
}

// Files that the kernel sends are saved.
function takeFiles({ model, say }) {
  model.on("msg:custom", (message, buffers) => {
    if (message.kind !== "file") return;
    const parts = buffers?.length ? buffers : [message.text];
    const link = document.createElement("a");
    link.href = URL.createObjectURL(new Blob(parts, { type: message.type }));
    link.download = message.name;
    link.click();
    setTimeout(() => URL.revokeObjectURL(link.href), 10000);
    say(`${message.name} downloaded`);
  });
}

function render({ model, el }) {
  const controller = new AbortController();
  const on = (target, name, handler, capture = false) =>
    target.addEventListener(name, handler, { signal: controller.signal, capture });
  const voila = document.body.dataset.voila === "voila";
  el.classList.add("rx-page");
  const live = document.createElement("div");
  live.className = "rx-visually-hidden";
  live.setAttribute("role", "status");
  const banner = document.createElement("div");
  banner.className = "rx-ended";
  banner.setAttribute("role", "alert");
  const toast = document.createElement("div");
  toast.className = "rx-toast";
  el.append(live, banner, toast);
  // A container cannot hold "fixed" to the window; the top layer does, wherever the page stands.
  for (const lifted of [banner, toast]) lifted.popover = "manual";

  const root = () => el.closest(".rx-root") || document;
  const say = (text) => {
    live.textContent = "";
    requestAnimationFrame(() => (live.textContent = text));
  };
  const page = { model, el, voila, root, on, say, banner, toast, signal: controller.signal };
  keepAddress(page);
  hintAxes(page);
  findByKeys(page);
  followClicks(page);
  keepLooks(page);
  tell(page);
  keepValues(page);
  watchCommand(page);
  watchSession(page);
  takeFiles(page);
  model.send({ kind: "ready", value: voila ? location.origin + location.pathname : "" });
  return () => controller.abort();
}

export default { render };
