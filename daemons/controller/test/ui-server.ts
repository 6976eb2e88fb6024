/** The routes of the pages on a real server, and a client that keeps cookies like a browser. */
import { join } from 'node:path'
import { type HttpConfig, httpTable } from '#kit/config/tables.ts'
import { withDefaults } from '#kit/http/check.ts'
import { createMetrics } from '#kit/http/metrics.ts'
import { createHttpServer } from '#kit/http/server.ts'
import { silentLog } from '#kit/log.ts'
import { misfitOf } from '#kit/test/described.ts'
import { UI_FAULT_STATUS } from '../api/ui-gate.ts'
import { createUi } from '../api/ui-routes.ts'
import type { FakeHouse } from './fake-house.ts'

/** A parsed answer. */
export interface Read {
  status: number
  body: Record<string, unknown>
  setCookies: string[]
}

/** A person at a browser. */
export interface Visitor {
  cookies: Map<string, string>
  call(method: string, path: string, json?: unknown, headers?: Record<string, string>): Promise<Read>
}

/**
 * Starts it; it ends with the test. @param settings `pages` also serves the built pages; `port` reuses an earlier one
 */
export async function serveUi(
  t: { teardown(run: () => unknown): void },
  house: FakeHouse,
  settings: { pages?: boolean; port?: number } = {},
) {
  const ui = createUi(house.parts)
  const config = withDefaults(JSON.parse(JSON.stringify(httpTable(3130, {}))), {}) as HttpConfig
  const server = createHttpServer({
    log: silentLog,
    clock: house.parts.clock,
    config: { ...config, listen: `127.0.0.1:${settings.port ?? 0}` },
    identify: ({ authorization }) => (authorization === 'Bearer rest' ? { name: 'bms', role: 'viewer' } : undefined),
    routes: ui.routes,
    sockets: ui.sockets,
    ...(settings.pages ? { web: { folder: join(import.meta.dirname, '../../../build/web/controller') } } : {}),
    faultStatus: UI_FAULT_STATUS,
    title: 'Plantroom controller',
    version: '1.2.3',
    metrics: createMetrics({ process: false }),
  })
  const { url, port } = await server.listen()
  t.teardown(() => server.close())
  return { ui, url, port, server, visitor: () => visitorOf(url) }
}

function visitorOf(url: string): Visitor {
  const cookies = new Map<string, string>()
  return {
    cookies,
    async call(method, path, json, more = {}) {
      const cookie = [...cookies].map(([name, value]) => `${name}=${value}`).join('; ')
      const headers: Record<string, string> = { origin: url, ...(cookie === '' ? {} : { cookie }), ...more }
      if (json !== undefined) headers['content-type'] = 'application/json'
      const reply = await fetch(url + path, {
        method,
        headers,
        ...(json === undefined ? {} : { body: JSON.stringify(json) }),
      })
      const setCookies = reply.headers.getSetCookie()
      for (const line of setCookies) keep(cookies, line)
      const text = await reply.text()
      const body = text === '' ? {} : JSON.parse(text)
      const misfit = misfitOf('controller', {
        ...{ method, path: path.split('?', 1)[0] ?? '', body },
        ...{ status: reply.status, type: reply.headers.get('content-type') ?? '' },
      })
      if (misfit !== undefined) throw new Error(`not as described: ${misfit}`)
      return { status: reply.status, body, setCookies }
    },
  }
}

function keep(cookies: Map<string, string>, line: string): void {
  const [, name = '', value = ''] = /^([^=]+)=([^;]*)/.exec(line) ?? []
  if (/Max-Age=0/.test(line)) cookies.delete(name)
  else cookies.set(name, value)
}
