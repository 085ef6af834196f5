// The search takes a word that begins with "-" as one to avoid. Who types an option means the option, with all its words.
{
  const field = document.querySelector("[data-md-component=search-query]");
  const { get, set } = Object.getOwnPropertyDescriptor(HTMLInputElement.prototype, "value");
  const asPhrase = word => (word.includes("-") ? `"${word.replaceAll("-", " ").trim()}"` : word);
  Object.defineProperty(field, "value", {
    get: () => get.call(field).replace(/(?<!\S)-*\w[\w-]*/g, asPhrase),
    set: text => set.call(field, text),
  });
}
