/** Sets the gateway up over its API, as an integrator would. */

/** A small client of the gateway's API, signed in as its administrator. */
export interface ApiClient {
  /** @returns the answer's JSON. @throws Error with the gateway's own sentence if it refuses */
  call(method: string, path: string, body?: unknown): Promise<unknown>
}

const CALL_MS = 20_000

/** Creates the administrator and signs in. */
export async function setUpGateway(url: string, admin: { username: string; password: string }): Promise<ApiClient> {
  let token = ''
  async function call(method: string, path: string, body?: unknown): Promise<unknown> {
    const response = await fetch(url + path, {
      method,
      headers: { 'content-type': 'application/json', ...(token && { authorization: `Bearer ${token}` }) },
      body: body === undefined ? undefined : JSON.stringify(body),
      signal: AbortSignal.timeout(CALL_MS),
    })
    const answer = response.status === 204 ? {} : await response.json()
    if (!response.ok) throw new Error(`${method} ${path}: ${answer.message}`)
    return answer
  }
  const signedIn = (await call('POST', '/api/setup', { ...admin, name: 'Demo plant room' })) as { token: string }
  token = signedIn.token
  return { call }
}

/** Path of a port's routes. */
export function portPath(device: string, rest = ''): string {
  return `/api/ports/${encodeURIComponent(device)}${rest}`
}
