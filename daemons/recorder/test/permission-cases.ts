/** What is asked of each route to see whether its answer tells of cameras that the caller may not see. */
import type { World } from './two-recorders.ts'

/** One request. */
export interface Ask {
  method: string
  /** As it stands in the first line, whatever it is. */
  path: string
  body: unknown
  /** Of an id as nobody writes it, or a method that the path does not have. */
  isOdd?: boolean
}

/** What follows a path, and what is sent. */
interface Case {
  queries?: string[]
  bodies?: unknown[]
}

/** Ids of cameras as somebody tries them who knows, or guesses, that of another. */
function oddIds({ foreign: [, safe], own: [door] }: Pick<World, 'foreign' | 'own'>): string[] {
  const percent = (text: string) => [...text].map((one) => `%${one.charCodeAt(0).toString(16)}`).join('')
  return [
    ...['0', 'all', '*', '', '.', '..', '%2e%2e', safe.toUpperCase(), percent(safe), percent(door)],
    ...[`${safe}.`, `.${safe}`, `${safe}%20`, `${safe}%00`, `${safe}%0a`, `${safe}%`, `${safe}%zz`, `%EF%BB%BF${safe}`],
    ...[`..%2f${safe}`, `${door}%2f..%2f${safe}`, `${door}/../${safe}`, `${door},${safe}`, 'a'.repeat(65)],
  ]
}

/** Of cameras that turn and speak. */
const TURNED_AND_SPOKEN: Record<string, Case> = {
  'GET /api/cameras/{id}/ptz': {},
  'GET /api/cameras/{id}/ptz/presets': {},
  'GET /api/cameras/{id}/ptz/patrol': {},
  'POST /api/cameras/{id}/ptz/patrol/pause': {},
  'POST /api/cameras/{id}/ptz/patrol/resume': {},
  'GET /api/cameras/{id}/ptz/follow': {},
  'POST /api/cameras/{id}/ptz/follow/stop': {},
  'POST /api/cameras/{id}/ptz/aim': { bodies: [{ x: 0, y: 0, zoom: 0 }, {}] },
  'POST /api/cameras/{id}/ptz/move': { bodies: [{ pan: 1, tilt: 0, zoom: 0 }, {}] },
  'POST /api/cameras/{id}/ptz/preset': { bodies: [{ token: '1' }, {}] },
  'POST /api/cameras/{id}/ptz/stop': {},
  'POST /api/cameras/{id}/talk': { bodies: [{ messageId: 'none' }, {}] },
  'DELETE /api/cameras/{id}/talk': {},
}

/**
 * @returns the cases of each route that not only administrators may call, by method and path as GET /api/openapi.json has
 *   them
 */
export function casesOf({ bounds: { end, start }, foreign, own }: World): Record<string, Case> {
  const middle = Math.round((start + end) / 2)
  const spans = [`from=${start - 60_000}&to=${end + 60_000}`, 'from=0&to=1', `from=${end}&to=${start}`, '']
  const stretch = { from: start, to: end, note: 'why' }
  const ids = [...own, ...foreign, ...oddIds({ foreign, own })]
  return {
    'GET /api/action-buttons': {},
    'POST /api/action-rules/{id}/press': {},
    'GET /api/alarms': { queries: ['', ...ids.map((id) => `cameraId=${id}`), 'severity=fault', 'source=camera_lost'] },
    'GET /api/alerts': { queries: ['', 'limit=1'] },
    'GET /api/camera-events': { queries: ['', ...ids.map((id) => `cameraId=${id}`), 'limit=1', 'before=1'] },
    'GET /api/cameras': { queries: ['', 'limit=128', 'limit=1&after=0', ...foreign.map((id) => `cameraId=${id}`)] },
    'GET /api/cameras/{id}/availability': { queries: spans },
    'GET /api/cameras/{id}/frame.jpg': { queries: [`at=${middle}`, 'at=0', `at=${middle}&width=32`, ''] },
    'GET /api/cameras/{id}/outputs': {},
    'POST /api/cameras/{id}/outputs/{output}': { bodies: [{ state: 'off' }, { state: 'on', seconds: 1 }] },
    'GET /api/cameras/{id}/playback.mp4': {
      queries: [
        ...[`start=${start}&duration=1`, `start=${start}&duration=1&download=1`, 'start=0&duration=1', ''],
        ...[`start=${start}&duration=1000000`],
      ],
    },
    'POST /api/cameras/{id}/plan/aim': { bodies: [{ x: 10, y: 20 }, { x: 10 }] },
    'GET /api/cameras/{id}/plan/looking': {},
    'GET /api/cameras/{id}/preserve': {},
    'POST /api/cameras/{id}/preserve': { bodies: [stretch, { ...stretch, to: start }, { from: 0, to: 1 }] },
    'DELETE /api/cameras/{id}/preserve/{stretch}': {},
    'GET /api/cameras/{id}/still.jpg': { queries: ['', 'width=32'] },
    ...TURNED_AND_SPOKEN,
    // Of a camera that is off it waits for a picture.
    'GET /api/cameras/{id}/stream.mjpg': { queries: ['fps=1'] },
    'GET /api/cameras/{id}/tracks': { queries: spans },
    'GET /api/events': {
      queries: [
        ...['', 'label=person', 'label=vehicle', 'limit=1', `since=${start}&until=${end}`, 'who=known', 'plate=B'],
        ...ids.map((id) => `cameraId=${encodeURIComponent(id)}`),
      ],
    },
    'GET /api/events/density': { queries: [...spans, `${spans[0]}&buckets=3`] },
    'GET /api/events/{id}/thumbnail.jpg': { queries: ['', 'width=32'] },
    'GET /api/investigation/search': { queries: ['', 'q=person', 'q=vault+safe+door', 'mode=semantic'] },
    'GET /api/identity': {},
    'GET /api/ledger': { queries: ['', 'open=true', 'where=Vault', 'what=camera_lost', 'severity=fault', 'limit=1'] },
    'GET /api/ledger/export': {},
    'GET /api/license': {},
    'POST /api/login': { bodies: [{ username: 'nobody', password: 'wrong' }] },
    // Signs out whoever is asked as: the last of all.
    'POST /api/logout': {},
    'POST /api/me/password': { bodies: [{ current: 'wrong', password: 'seven other words' }] },
    'GET /api/openapi.json': {},
    'GET /api/recordings/availability': { queries: [...spans, `${spans[0]}&cameraId=${foreign[1]}`] },
    'POST /api/setup': { bodies: [{ username: 'x', password: 'seven long words' }] },
    'GET /api/site-plans': { queries: ['', `cameraId=${foreign[1]}`] },
    'GET /api/site-plans/{id}/image': {},
    'GET /api/status': {},
    'GET /api/talk/messages': {},
    'GET /api/talk/messages/{id}/sound.wav': {},
    'GET /api/system/ca-cert': {},
    'GET /metrics': {},
    // Asked without an upgrade, sockets say why they would not open.
    'WS /ws': { queries: ['', `camera=${foreign[0]}`] },
    'WS /ws/video': { queries: ['', ...ids.map((id) => `camera=${id}&profile=sub`)] },
  }
}

/** Every request of a route, and other methods on its path. Administrators see all cameras: others are refused. */
export function asksOf(route: string, world: World): Ask[] {
  const { bodies = [undefined], queries = [''] } = casesOf(world)[route] ?? {}
  const [word = '', path = ''] = route.split(' ')
  const method = word === 'WS' ? 'GET' : word
  const { accounts, foreign, own, plans, stretches, tokenIds } = world
  const [plain, ...odd] = /^\/api\/cameras\//.test(path)
    ? [[...own, ...foreign, 'ffffffff'], ...oddIds(world).map((id) => [id])]
    : /^\/api\/events\//.test(path)
      ? [world.events]
      : [[...Object.values(/^\/api\/site-plans\//.test(path) ? plans : accounts), ...tokenIds, 'ffffffff']]
  const pathsOf = (ids: string[] = []) => {
    const all = ids.flatMap((id) =>
      [stretches.own, stretches.foreign].map((stretch) => path.replace('{id}', id).replace('{stretch}', stretch)),
    )
    return [...new Set(all)]
  }
  const [query = ''] = queries
  const ask = (path: string, query: string, body: unknown) => ({ method, path: `${path}${query && `?${query}`}`, body })
  return [
    ...pathsOf(plain).flatMap((one) => queries.flatMap((query) => bodies.map((body) => ask(one, query, body)))),
    ...odd.flatMap(pathsOf).map((one) => ({ ...ask(one, query, bodies[0]), isOdd: true })),
    ...pathsOf(plain).flatMap((path) =>
      ['HEAD', 'OPTIONS', 'PUT'].map((method) => ({ method, path, body: undefined, isOdd: true })),
    ),
  ]
}
