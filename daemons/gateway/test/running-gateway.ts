/** The real gateway as a child process, and requests to it, for end-to-end tests. */
import { type Answer, ask, type Owner, type RunningDaemon, startDaemon } from '#kit/test/running-daemon.ts'

/** Long, so that no port waits for a closed pty: its number is given to the next one, perhaps of another test. */
const RETRY_LATE = 'ports.retry_first_ms=10000'

export interface RunningGateway extends RunningDaemon {
  /** Sends a request with a JSON body. @param token that of the last sign-in if omitted */
  call(method: string, path: string, body?: unknown, token?: string | null): Promise<Answer>
  /** Makes the first administrator and keeps the token for `call`. */
  setUp(): Promise<string>
  token(): string
  /**
   * Opens a port that is removed with the test: on a shared gateway, the pty of the next test may have the same name.
   * @param body of the PUT
   */
  openPort(t: Owner, device: string, body: object): Promise<Answer>
  /** The path of a port route, with the device path percent-encoded. */
  portPath(device: string, rest?: string): string
}

export const password = 'correct horse battery'

/**
 * Starts `plantroom gateway` on a free port. It ends with the test, or, if `t` is tap's, with all tests of the file. A
 * given `stateFolder` is kept.
 */
export async function startGateway(
  t: Owner,
  options: { sets?: string[]; stateFolder?: string; within?: string[] } = {},
): Promise<RunningGateway> {
  const sets = ['ports.allow=["/dev/pts/*", "/dev/ttyUSB*"]', RETRY_LATE, ...(options.sets ?? [])]
  return running(await startDaemon(t, 'gateway', { ...options, sets }))
}

function running(daemon: RunningDaemon): RunningGateway {
  let token: string | undefined
  function call(method: string, path: string, body?: unknown, as: string | null | undefined = token) {
    return ask(daemon.url + path, {
      method,
      headers: {
        ...(as ? { authorization: `Bearer ${as}` } : {}),
        ...(body === undefined ? {} : { 'content-type': 'application/json' }),
      },
      body: body === undefined ? undefined : JSON.stringify(body),
    })
  }
  const portPath = (device: string, rest = '') => `/api/ports/${encodeURIComponent(device)}${rest}`
  return {
    ...daemon,
    call,
    portPath,
    openPort(t, device, body) {
      // The gateway may have ended already.
      t.teardown(() => call('DELETE', portPath(device)).catch(() => {}))
      return call('PUT', portPath(device), body)
    },
    async setUp() {
      const { body } = await call('POST', '/api/setup', { username: 'admin', password })
      token = body.token
      return body.token
    },
    token: () => token ?? '',
  }
}
