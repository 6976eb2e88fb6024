/** The address of a page, without user and password. */

/**
 * Begins once the page is at an address without user and password, or opens it anew at that. Opened as
 * `http://admin:PW@board/`, every call by a path fails, since the path is completed by an address that no request may have
 * (Fetch, 5.3, step 6); and the password stood in the address bar. The browser has kept it and signs in with it.
 */
export function atPlainAddress(begin: () => void): void {
  const { username, password } = new URL(document.URL)
  const { origin, pathname, search, hash } = location
  if (username === '' && password === '') begin()
  else location.replace(`${origin}${pathname}${search}${hash}`)
}
