/** Words of daemons and devices made fit to stand alone: capital first, full stop last. */

/** `usb device` reads `Usb device`. */
export function capital(text: string): string {
  return text.charAt(0).toUpperCase() + text.slice(1)
}

/** With a full stop, unless it ends by itself. */
export function ended(text: string): string {
  return /[.!?]$/.test(text) ? text : `${text}.`
}

/** What goes on from a name, or has no end: under a field or in a dialog it stands alone. */
export function sentence(text: string): string {
  return ended(capital(text))
}
