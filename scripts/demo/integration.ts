/** What an integrator would do: set the gateway up over its API, and ask the meter every few seconds. */

export const demoLogin = { username: 'admin', password: 'plantroom' } as const

const ASK_MS = 2000

/** A small client of the gateway's API. */
export interface Integration {
  call(method: string, path: string, body?: unknown): Promise<unknown>
  /** Asks the meter for its values until stopped. */
  askEvery(port: string): () => void
}

/** Makes the administrator and signs in. */
export async function integrate(url: string): Promise<Integration> {
  let token = ''
  async function call(method: string, path: string, body?: unknown): Promise<unknown> {
    const response = await fetch(url + path, {
      method,
      headers: { 'content-type': 'application/json', ...(token && { authorization: `Bearer ${token}` }) },
      body: body === undefined ? undefined : JSON.stringify(body),
      signal: AbortSignal.timeout(10_000),
    })
    const answer = response.status === 204 ? {} : await response.json()
    if (!response.ok) throw new Error(`${method} ${path}: ${answer.message}`)
    return answer
  }
  const signedIn = (await call('POST', '/api/setup', { ...demoLogin, name: 'Demo plant room' })) as { token: string }
  token = signedIn.token
  return {
    call,
    askEvery(port) {
      const path = `/api/ports/${encodeURIComponent(port)}/rest/request`
      const asks = [
        { unitId: 1, fc: 4, address: 0, quantity: 12 },
        { unitId: 2, fc: 1, address: 0, quantity: 8 },
      ]
      const timer = setInterval(async () => {
        // What goes wrong is on the page, which is where a person looks.
        for (const ask of asks) await call('POST', path, ask).catch(() => {})
      }, ASK_MS)
      return () => clearInterval(timer)
    },
  }
}
