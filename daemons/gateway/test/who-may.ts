/** Who may call what: the table against which who-may.e2e.test.ts tests the real gateway. */

/** All kinds of callers. Keys are for all ports, for the requested port, or for another port. */
export const callers = [
  'nobody',
  'viewer',
  'admin',
  'viewerKey',
  'adminKey',
  'ownPortKey',
  'ownPortViewerKey',
  'otherPortKey',
  'expiredKey',
  'deadToken',
] as const
export type Who = (typeof callers)[number]

/** `in`: let through, so that the request itself is checked. Otherwise status and code of the refusal. */
export type Outcome =
  | 'in'
  | '401 unauthorized'
  | '401 key_expired'
  | '403 forbidden'
  | '403 not_for_keys'
  | '403 not_your_port'

type Row = Readonly<Record<Who, Outcome>>

const IN = 'in'
const VIEWER = '403 forbidden'
const NO_KEYS = '403 not_for_keys'
const OTHER = '403 not_your_port'
const strangers = { nobody: '401 unauthorized', expiredKey: '401 key_expired', deadToken: '401 unauthorized' } as const

/** Open to callers without credentials, and with any. */
const anyone = Object.fromEntries(callers.map((who) => [who, IN])) as Row
const people: Row = {
  ...strangers,
  viewer: IN,
  admin: IN,
  viewerKey: NO_KEYS,
  adminKey: NO_KEYS,
  ownPortKey: NO_KEYS,
  ownPortViewerKey: NO_KEYS,
  otherPortKey: NO_KEYS,
}
const administrators: Row = { ...people, viewer: VIEWER, viewerKey: VIEWER, ownPortViewerKey: VIEWER }
const boxRead: Row = { ...people, viewerKey: IN, adminKey: IN }
const boxChange: Row = { ...administrators, adminKey: IN }
/** A reply about all ports, which a key limited to ports gets about its own only; or a reply about no port. */
const filtered: Row = { ...boxRead, ownPortKey: IN, ownPortViewerKey: IN, otherPortKey: IN }
const portRead: Row = { ...filtered, otherPortKey: OTHER }
const portChange: Row = { ...boxChange, ownPortKey: IN, otherPortKey: OTHER }

/** The source of a row: the clause of the interface document (part A), or a sentence of the gateway's own rules. */
const marked = 'Authentication 1: all routes need a token, except those marked none'
const reads = 'Authentication 3: read endpoints need any authenticated user'
const changes = 'Authentication 3: mutating methods need an admin token'
const asTable = (auth: string) => `Endpoints: the table says ${auth}`
const rolesRule = (text: string) => `Login, roles: ${text}`
const ownSignIn = rolesRule('what ends or proves a sign-in is its owner’s, viewer or not')
const noSelf = rolesRule('a key never manages users or keys')

/** Route, row, and its source. */
export const whoMay: readonly (readonly [string, Row, string])[] = [
  ['GET /api/status', anyone, asTable('none')],
  ['POST /api/login', anyone, asTable('none')],
  ['GET /api/setup', anyone, rolesRule('first start: there is nobody who could sign in')],
  ['POST /api/setup', anyone, rolesRule('POST /api/setup works once, then 409')],

  ['GET /api/system/ca-cert', anyone, asTable('none')],

  ['GET /api/me', filtered, asTable('token')],
  ['POST /api/me/password', people, ownSignIn],
  ['POST /api/logout', people, ownSignIn],
  ['POST /api/ticket', filtered, rolesRule('a browser, which cannot set the header, gets a one-time ticket')],
  ['GET /api/openapi.json', filtered, reads],
  ['GET /api/templates/modbus', filtered, asTable('token')],
  ['GET /metrics', filtered, `${reads}; the house guards /metrics like any read`],

  ['GET /api/system', boxRead, asTable('token')],
  ['GET /api/system/licences/{text}', boxRead, asTable('token')],
  ['PATCH /api/system', boxChange, changes],
  ['GET /api/mqtt', boxRead, reads],
  ['POST /api/mqtt/test', boxChange, changes],
  ['GET /api/journal', boxChange, rolesRule('for administrators: it tells who did what')],
  ['GET /api/journal/export', boxChange, rolesRule('for administrators: it tells who did what')],

  ['GET /api/ledger', filtered, rolesRule('who may see a port may see what was wrong with it')],
  ['GET /api/ledger/export', filtered, rolesRule('who may see a port may see what was wrong with it')],
  ['POST /api/ledger/acknowledge', boxChange, changes],

  ['GET /api/users', administrators, `${rolesRule('GET/POST/PATCH/DELETE /api/users (admin)')}; ${noSelf}`],
  ['POST /api/users', administrators, `${changes}; ${noSelf}`],
  ['PATCH /api/users/{username}', administrators, `${changes}; ${noSelf}`],
  ['DELETE /api/users/{username}', administrators, `${changes}; ${noSelf}`],
  ['GET /api/keys', administrators, `${rolesRule('/api/keys, admin only')}; ${noSelf}`],
  ['POST /api/keys', administrators, `${changes}; ${noSelf}`],
  ['DELETE /api/keys/{id}', administrators, `${changes}; ${noSelf}`],

  ['GET /api/ports', filtered, reads],
  ['GET /api/ports/{path}', portRead, reads],
  ['PUT /api/ports/{path}', portChange, changes],
  ['DELETE /api/ports/{path}', portChange, changes],
  ['POST /api/ports/{path}/open', portChange, changes],
  ['POST /api/ports/{path}/close', portChange, changes],
  ['GET /api/ports/{path}/frames', portRead, reads],
  ['GET /api/ports/{path}/capture.pcap', portRead, reads],
  ['POST /api/ports/{path}/rest/tx', portChange, asTable('admin')],
  ['POST /api/ports/{path}/rest/request', portChange, asTable('admin')],
  ['POST /api/ports/{path}/rest/test-read', portChange, changes],
  ['POST /api/ports/{path}/rest/identify', portChange, changes],
  ['POST /api/ports/{path}/rest/send', portChange, asTable('admin')],
  ['POST /api/ports/{path}/rest/read', portChange, changes],
  ['POST /api/ports/{path}/rest/init', portChange, changes],
  ['POST /api/ports/{path}/rest/set-point', portChange, changes],
  ['POST /api/ports/{path}/rest/set-iin', portChange, changes],
  ['POST /api/ports/{path}/rest/command', portChange, changes],
  ['GET /api/ports/{path}/equipment', portRead, reads],
  ['GET /api/ports/{path}/ring', portRead, reads],
  ['GET /api/ports/{path}/outstation', portRead, reads],
  ['GET /api/ports/{path}/units', portRead, reads],
  ['DELETE /api/ports/{path}/units/{unitId}', portChange, changes],
  ['GET /api/ports/{path}/registers', portRead, reads],
  ['PUT /api/ports/{path}/registers', portChange, changes],
  ['GET /api/ports/{path}/points', portRead, reads],
  ['PUT /api/ports/{path}/points', portChange, changes],
  ['POST /api/ports/{path}/points', portChange, changes],
  ['POST /api/ports/{path}/points/{name}', portChange, changes],
  ['PATCH /api/ports/{path}/points/{name}', portChange, changes],
  ['DELETE /api/ports/{path}/points/{name}', portChange, changes],
  ['GET /api/ports/{path}/points/{name}/history', portRead, reads],
  ['GET /api/ports/{path}/units/{unitId}/history', portRead, reads],
  ['GET /api/ports/{path}/history.csv', portRead, reads],
  ['POST /api/ports/{path}/rest/scan', portChange, changes],
  ['GET /api/ports/{path}/rest/scan', portRead, reads],
  ['DELETE /api/ports/{path}/rest/scan', portChange, changes],
  ['POST /api/ports/{path}/hunt', portChange, changes],
  ['GET /api/ports/{path}/hunt', portRead, reads],
  ['DELETE /api/ports/{path}/hunt', portChange, changes],
  ['GET /api/ports/{path}/webhooks', portChange, asTable('admin')],
  ['POST /api/ports/{path}/webhooks', portChange, asTable('admin')],
  ['PUT /api/ports/{path}/webhooks/{id}', portChange, asTable('admin')],
  ['DELETE /api/ports/{path}/webhooks/{id}', portChange, asTable('admin')],
  ['POST /api/ports/{path}/webhooks/{id}/test', portChange, changes],
]

/** The WebSocket, which the API description does not list. */
export const socketRow: Row = filtered
export const socketSource = marked
