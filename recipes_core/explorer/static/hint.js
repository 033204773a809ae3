// A sentence with flags in it: none is broken after its dashes, and each is copied as it is written.

function writeHint(node, text) {
  if (node.textContent === text) return;
  const parts = text.split(/(?<![\w-])(--[A-Za-z][\w.-]*)/);
  node.replaceChildren(
    ...parts.map((part, place) => {
      if (place % 2 === 0) return part;
      const flag = document.createElement("span");
      flag.className = "rx-whole";
      flag.textContent = part;
      return flag;
    }),
  );
}

