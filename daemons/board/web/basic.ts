/** The password as the browser keeps it: it signs calls in by itself, once it has been told. */

/** The one user of a board. */
const USER = 'admin'

/** Value of the `authorization` header for a password. @source RFC 7617, 2 and 2.1: UTF-8 */
export function basicOf(password: string): string {
  const bytes = new TextEncoder().encode(`${USER}:${password}`)
  return `Basic ${btoa(String.fromCharCode(...bytes))}`
}

/**
 * Tells the browser a password that was just set, so that it does not ask for it. A request that names user and password
 * is the only way: what `fetch` is given by a header is used once and not kept. A browser that keeps nothing asks.
 */
export function tellBrowser(password: string): Promise<void> {
  return new Promise((resolve) => {
    const request = new XMLHttpRequest()
    request.onloadend = () => resolve()
    request.open('GET', '/api/auth', true, USER, password)
    request.send()
  })
}
