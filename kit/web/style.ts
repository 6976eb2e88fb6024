/** Styles of parts that are loaded when they are opened: a page that never shows them does not carry them. */

/**
 * Adds rules to the page, for good; they are made of the tokens like those of the style sheet. Called by a part when it
 * is loaded.
 */
export function adoptStyle(rules: string): void {
  // What pages say is tested without a browser.
  if (typeof CSSStyleSheet === 'undefined') return
  // A style element would be refused by the content security policy of the pages.
  const sheet = new CSSStyleSheet()
  sheet.replaceSync(rules)
  document.adoptedStyleSheets = [...document.adoptedStyleSheets, sheet]
}
