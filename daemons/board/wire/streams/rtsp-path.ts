/** Under which paths a session is described over RTSP, as RAVENNA devices name them. */

/** Which session a path asks for: by its name, by its number, or the only one there is. */
export type SessionPath = { by: 'name'; name: string } | { by: 'id'; id: string } | { by: 'default' }

/**
 * @param name of a stranger too; half pairs, which no path can name, become U+FFFD
 * @source RAVENNA Operating Principles 1.0, 5.2: `/by-name/NAME`, `/by-id/ID`
 */
export function pathByName(name: string): string {
  return `/by-name/${encodeURIComponent(name.toWellFormed())}`
}

/**
 * @param url absolute, or the path alone as some clients send it
 * @returns undefined where it is no path of a session; a name is compared as it is, a `+` in it means itself
 */
export function readSessionPath(url: string): SessionPath | undefined {
  const given = /^(?:rtspu?:\/\/[^/\s]*)?(\/.*)?$/i.exec(url)
  if (!given || url === '') return undefined
  const path = given[1] ?? '/'
  const [, by, text = ''] = /^\/(by-name|by-id)\/([^?#]{1,512}?)\/?$/i.exec(path) ?? []
  if (by === undefined) return path === '/' ? { by: 'default' } : undefined
  const name = decoded(text)
  if (name === undefined) return undefined
  return by.toLowerCase() === 'by-name' ? { by: 'name', name } : { by: 'id', id: name }
}

function decoded(text: string): string | undefined {
  try {
    return decodeURIComponent(text)
  } catch {
    return undefined
  }
}
