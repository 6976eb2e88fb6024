/** A client of a recorder under test: signed in by the cookie of a page, or by a token. */
import { type Answer, ask } from '#kit/test/running-daemon.ts'

export const admin = { username: 'admin', password: 'correct horse battery' }

/** What it calls with; read anew for each call. */
export interface Credentials {
  cookie?: string
  csrf?: string
  token?: string
}

export interface Client {
  credentials: Credentials
  call(method: string, path: string, body?: unknown, headers?: Record<string, string>): Promise<Answer>
  /** Sends bytes as they are. */
  send(method: string, path: string, bytes: Uint8Array): Promise<Answer>
  /** Signs in, and keeps the cookie. */
  signIn(who?: { username: string; password: string }): Promise<Answer>
  /** Makes the first account, and keeps its cookie. */
  setUp(): Promise<Answer>
}

export function clientOf(url: string, credentials: Credentials = {}): Client {
  async function call(method: string, path: string, body?: unknown, headers: Record<string, string> = {}) {
    return await ask(url + path, {
      method,
      headers: {
        ...headersOf(credentials),
        ...(body === undefined ? {} : { 'content-type': 'application/json' }),
        ...headers,
      },
      body: body === undefined ? undefined : JSON.stringify(body),
    })
  }

  function keep(answer: Answer): Answer {
    const cookie = answer.headers.getSetCookie().find((one) => !one.includes('Domain'))
    credentials.cookie = cookie?.split(';')[0] ?? ''
    credentials.csrf = answer.body.csrf
    return answer
  }

  return {
    credentials,
    call,
    send: (method, path, bytes) =>
      ask(url + path, { method, headers: headersOf(credentials), body: Buffer.from(bytes) }),
    signIn: async (who = admin) => keep(await call('POST', '/api/login', who)),
    setUp: async () => keep(await call('POST', '/api/setup', admin)),
  }
}

/** The headers that carry credentials. */
export function headersOf({ cookie, csrf, token }: Credentials): Record<string, string> {
  return {
    ...(cookie !== undefined && { cookie }),
    ...(csrf !== undefined && { 'x-csrf-token': csrf }),
    ...(token !== undefined && { authorization: `Bearer ${token}` }),
  }
}
