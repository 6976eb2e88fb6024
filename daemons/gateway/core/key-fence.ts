/** What a key may see and touch, beyond its role: the one place where that is decided. */
import { Fault } from '#kit/fault.ts'

/** A caller as far as it matters here; a person is never fenced. */
export interface Fenced {
  name: string
  isKey?: boolean
  /** Device paths of the ports it is for; absent for all. */
  only?: readonly string[]
}

/** Where it knocks: the route as the table has it, and its decoded parameters. */
export interface Knock {
  method: string
  path: string
  params: Readonly<Record<string, string>>
}

/** No key may: one that leaked must not make itself a successor, nor shut its administrators out. */
const FOR_PEOPLE = /^\/api\/(users|keys|me\/password|logout)(\/|$)/

/** Open to a key with a list of ports: these tell nothing of a port, or are filtered by the list. */
const OPEN_TO_ANY_KEY: ReadonlySet<string> = new Set([
  'GET /api/me',
  'GET /api/openapi.json',
  'GET /api/ports',
  'GET /api/templates/modbus',
  'POST /api/ticket',
  'GET /metrics',
  'GET /ws',
])

const PORT = '/api/ports/:path'

/**
 * Whatever is not named here is refused to a key with a list.
 * @throws Fault `not_for_keys`, `not_your_port`
 */
export function checkKey(caller: Fenced, { method, path, params }: Knock): void {
  if (!caller.isKey) return
  if (FOR_PEOPLE.test(path))
    throw new Fault('not_for_keys', `Keys do not do this, whatever their role: sign in as a user. (${caller.name})`)
  if (!caller.only || OPEN_TO_ANY_KEY.has(`${method} ${path}`)) return
  if (path !== PORT && !path.startsWith(`${PORT}/`))
    throw new Fault('not_for_keys', `${caller.name} is for single ports, and this is not about one of them.`)
  if (!seesPort(caller, params.path)) throw notYourPort(caller)
}

/** Whether a port, by the name it is set up by, is this caller's to see. */
export function seesPort({ only }: Pick<Fenced, 'only'>, port: string | undefined): boolean {
  return !only || (port !== undefined && only.includes(port))
}

/** The same sentence whether there is such a port or not. */
export function notYourPort({ name }: Pick<Fenced, 'name'>): Fault {
  return new Fault('not_your_port', `${name} is not for this port. Its list names ports as they are set up.`)
}
