/** Addresses by which other systems lead a person to a camera, a moment or an event. */

/** How an event is named: its camera, and when it began. */
const EVENT_ID = /^([0-9a-f]{8})-(\d{1,15})-\d{1,9}$/

/** @returns which camera an event is of, and when it began; undefined for a name of no event */
export function eventPlace(id: string): { camera: string; beganAt: number } | undefined {
  const [, camera, beganAt] = EVENT_ID.exec(id) ?? []
  return camera === undefined ? undefined : { camera, beganAt: Number(beganAt) }
}

/**
 * The words of the page that a link names; undefined where it names none.
 * @source interface document 3, A, deep links: `/playback?camera=<id>&at=<ms>`, `/events?event=<id>`, `/?camera=<id>`
 */
export function deepLink(path: string, query: URLSearchParams): string[] | undefined {
  const named = (name: string) => query.get(name) ?? ''
  const wordsOf = (...words: string[]) => words.filter((word) => word !== '')
  if (path === '/playback') return wordsOf('playback', named('camera'), named('camera') && named('at'))
  if (path === '/events') return wordsOf('events', named('event'))
  return named('camera') === '' ? undefined : ['camera', named('camera')]
}
