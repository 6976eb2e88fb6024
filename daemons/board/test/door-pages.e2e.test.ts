/** Which pages may call the real board, tried with a real browser. */
import { createServer } from 'node:http'
import { type AddressInfo, connect, createServer as createTcpServer, type Socket } from 'node:net'
import type { Browser, Page } from 'playwright-core'
import t, { type Test } from 'tap'
import { until } from '#kit/test/until.ts'
import { launchBrowser, noBrowser } from '#kit/test/web/page-rig.ts'
import { type RunningBoard, startBoard } from './running-board.ts'

const PASSWORD = 'correct horse'
const FORM = 'application/x-www-form-urlencoded'
const basic = `Basic ${Buffer.from(`admin:${PASSWORD}`).toString('base64')}`

/** The names of the test, all for this machine, as a private name server would have them. */
const RESOLVED = '--host-resolver-rules=MAP *.example 127.0.0.1'

const start = (t: Test) =>
  startBoard(t, { sets: ['mdns.enabled=false', 'log.level=info', 'http.hosts=["lobby.example"]'] })

/** A foreign site: any path is a page that does nothing on its own. */
async function strangeSite(t: Test): Promise<string> {
  const site = createServer((_, answer) => answer.setHeader('content-type', 'text/html').end('<title>Strange</title>'))
  await new Promise<void>((resolve) => site.listen(0, '127.0.0.1', resolve))
  t.teardown(() => {
    site.closeAllConnections()
    site.close()
  })
  return `http://evil.example:${(site.address() as AddressInfo).port}`
}

/**
 * A name whose address its owner can change while one of the owner's pages is open. For the browser it makes no
 * difference whether the address changes or the server behind it.
 */
async function bendableName(t: Test, first: string) {
  let to = Number(new URL(first).port)
  const open = new Set<Socket>()
  const bend = createTcpServer((client) => {
    const server = connect(to, '127.0.0.1')
    open.add(client)
    for (const end of [client, server]) end.on('error', () => {})
    client.pipe(server).pipe(client)
    client.on('close', () => server.destroy())
    server.on('close', () => client.destroy())
  })
  await new Promise<void>((resolve) => bend.listen(0, '127.0.0.1', resolve))
  function endAll(): void {
    for (const client of open) client.destroy()
    open.clear()
  }
  t.teardown(() => {
    endAll()
    bend.close()
  })
  return {
    url: `http://rebound.example:${(bend.address() as AddressInfo).port}`,
    bendTo(url: string) {
      to = Number(new URL(url).port)
      endAll()
    },
  }
}

/** A tab at an address, whose browser uses the password for everything, as if somebody had typed it. */
async function tabAt(browser: Browser, url: string, password?: string): Promise<Page> {
  const credentials =
    password === undefined ? {} : { httpCredentials: { username: 'admin', password, send: 'always' as const } }
  const context = await browser.newContext(credentials)
  context.setDefaultTimeout(25_000)
  const page = await context.newPage()
  await page.goto(url)
  return page
}

/** A request as a script of a page makes it. */
interface Sent {
  method?: string
  headers?: Record<string, string>
  body?: string
  mode?: string
  credentials?: string
}

/** What a script of the page learns of an answer: its status, its error code, or that it is blocked. */
function send(page: Page, url: string, init: Sent = {}): Promise<string> {
  return page.evaluate(
    async ({ url, init }: { url: string; init: object }) => {
      try {
        const reply = await fetch(url, init)
        if (reply.type === 'opaque') return 'opaque'
        const body = await reply.json().catch(() => ({}))
        return `${reply.status}${body.error ? ` ${body.error}` : ''}`
      } catch {
        return 'unread'
      }
    },
    { url, init },
  )
}

const post = (body: string, headers: Record<string, string> = {}): Sent => ({
  method: 'POST',
  headers: { 'content-type': FORM, ...headers },
  body,
})

/** The first outcome of a WebSocket that a script of the page opens. */
function socket(page: Page, url: string): Promise<string> {
  return page.evaluate(
    (at) =>
      new Promise<string>((resolve) => {
        const one = new WebSocket(at)
        one.onmessage = ({ data }) => resolve(JSON.parse(data).type)
        one.onclose = () => resolve('closed')
      }),
    url.replace('http', 'ws'),
  )
}

/** Whether the lamp was made to blink, as the board itself says. */
async function isBlinking(board: RunningBoard, password?: string): Promise<boolean> {
  return (await board.get('/api/status', password)).body.identify_until !== null
}

t.test('B.auth.2 pages and the board', { skip: noBrowser }, async (t) => {
  const browser = await launchBrowser(t, [RESOLVED])
  const board = await start(t)
  /** A board for the next test: without a password, and its lamp does not blink. */
  const quiet = () => board.post('/api/identify', { on: '0' })
  async function lock(t: Test): Promise<void> {
    t.teardown(() => board.post('/api/password', { password: '' }, PASSWORD))
    await board.post('/api/password', { password: PASSWORD })
  }

  await t.test('the same board: its page posts, reads, and opens the socket', async (t) => {
    await quiet()
    const page = await tabAt(browser, board.url)
    t.equal(await send(page, '/api/identify', post('on=1')), '200')
    t.equal(await isBlinking(board), true)
    t.equal(await socket(page, `${board.url}/ws`), 'status')
    t.equal(await send(page, '/api/auth'), '200')
  })

  await t.test('the same board under its other name is the same board', async (t) => {
    await quiet()
    const byName = board.url.replace('127.0.0.1', 'lobby.example')
    const page = await tabAt(browser, board.url)
    t.equal(await send(page, `${byName}/api/identify`, post('on=1')), 'unread', 'loopback is not a particular board')
    const other = await tabAt(browser, byName)
    t.equal(await send(other, `${board.url}/api/identify`, post('on=1', { authorization: 'Basic x' })), '200')
    t.equal(await send(other, `${board.url}/api/status`), '200')
    t.equal(await send(other, `${board.url}/api/auth`), 'unread', 'except for its own credentials')
  })

  await t.test('once there is a password the browser asks for it, and the page works with it', async (t) => {
    await quiet()
    await lock(t)
    const stranger = await (await browser.newContext()).newPage()
    t.equal((await stranger.goto(board.url).catch(() => null))?.status() ?? 401, 401)
    const page = await tabAt(browser, board.url, PASSWORD)
    t.match(await page.title(), /Plantroom board/)
    t.equal(await send(page, '/api/identify', post('on=1')), '200')
    const auth = await page.evaluate(async () => (await fetch('/api/auth')).json())
    t.strictSame(auth, { username: 'admin', password: PASSWORD, authorization: basic })
    const { ticket } = await page.evaluate(async () => (await fetch('/api/ticket', { method: 'POST' })).json())
    t.equal(await socket(page, `${board.url}/ws?ticket=${ticket}`), 'status')

    const inAddress = board.url.replace('//', `//admin:${encodeURIComponent(PASSWORD)}@`)
    const named = await tabAt(browser, `${inAddress}/#/system`)
    await named.getByText('SERIAL SERVER', { exact: false }).first().waitFor()
    t.equal(await named.evaluate(() => document.URL), `${board.url}/#/system`, 'the address shows no password')
    t.equal(await send(named, '/api/status'), '200')
  })

  for (const password of [undefined, PASSWORD])
    await t.test(`a foreign site achieves nothing, ${password ? 'with' : 'without'} the password`, async (t) => {
      await quiet()
      if (password) await lock(t)
      const site = await strangeSite(t)
      const page = await tabAt(browser, site, password)
      const at = `${board.url}/api/identify`
      t.equal(await send(page, at, post('on=1')), 'unread')
      t.equal(await send(page, at, { ...post('on=1'), mode: 'no-cors', credentials: 'include' }), 'opaque')
      t.equal(await send(page, at, { ...post('on=1', { authorization: basic }) }), 'unread', 'by a preflight')
      t.equal(await send(page, at, { method: 'PUT', body: 'on=1' }), 'unread')
      t.equal(await send(page, at, post('{"on":true}', { 'content-type': 'application/json' })), 'unread')
      t.equal(await send(page, at, { ...post('on=1', { 'content-type': 'text/plain' }), mode: 'no-cors' }), 'opaque')
      for (const path of ['/api/status', '/api/auth', '/api/config', '/metrics'])
        t.equal(await send(page, board.url + path, { credentials: 'include' }), 'unread', path)
      t.equal(await socket(page, `${board.url}/ws`), 'closed')
      await page.evaluate((url) => navigator.sendBeacon(url, new URLSearchParams({ on: '1' })), at)
      t.match(await submitted(page, at), /foreign_origin/, 'by a form that submits there')
      const refused = () => (board.output().match(/method=POST path=\/api\/identify status=403/g) ?? []).length
      const before = refused()
      await submitFromNowhere(page, site, at)
      await until('it is refused', () => refused() > before)
      t.equal(await isBlinking(board, password), false)
      const { body } = await board.get('/api/journal', password)
      t.notMatch(JSON.stringify(body), /identif/)
    })

  await t.test('a found board: its page does what its sign-in allows, and learns no other password', async (t) => {
    const [here, there] = [await startBoard(t), await startBoard(t)]
    for (const board of [here, there]) await board.post('/api/password', { password: PASSWORD })
    await found(there, here)
    const page = await tabAt(browser, here.url, PASSWORD)
    const { authorization } = await page.evaluate(async () => (await fetch('/api/auth')).json())
    const signed = { authorization }
    const at = `${there.url}/api/identify`
    t.equal(await send(page, at, post('on=1', signed)), '200')
    t.equal(await isBlinking(there, PASSWORD), true)
    t.equal(await send(page, `${there.url}/api/status`, { headers: signed }), '200')
    t.equal(await send(page, `${there.url}/api/ticket`, post('', signed)), '200')
    t.equal(await send(page, at, post('on=perhaps', signed)), '400 bad_fields', 'and reads the fault')
    t.equal(await send(page, `${there.url}/api/auth`, { headers: signed }), 'unread')
    t.equal(await send(page, `${there.url}/api/auth`), 'unread')
    const stranger = await tabAt(browser, await strangeSite(t), PASSWORD)
    t.equal(await send(stranger, at, post('on=0', signed)), 'unread')
    t.equal(await isBlinking(there, PASSWORD), true)
  })

  await t.test('a name rebound to the board is unknown to the board', async (t) => {
    await quiet()
    const name = await bendableName(t, await strangeSite(t))
    const page = await tabAt(browser, name.url)
    t.equal(await page.title(), 'Strange')
    name.bendTo(board.url)
    t.equal(await send(page, '/api/identify', post('on=1')), '403 foreign_host')
    for (const path of ['/api/status', '/api/auth', '/api/config', '/'])
      t.equal(await send(page, path), '403 foreign_host', path)
    t.equal(await socket(page, `${name.url}/ws`), 'closed')
    t.equal(await isBlinking(board), false)
    t.equal((await page.goto(name.url))?.status(), 403)
    t.match(await page.textContent('body'), /foreign_host/)
  })

  await t.test('another port of the same machine is another site', async (t) => {
    await quiet()
    const other = await start(t)
    const page = await tabAt(browser, other.url)
    t.equal(await send(page, `${board.url}/api/identify`, post('on=1')), 'unread')
    t.equal(await send(page, `${board.url}/api/status`), 'unread')
    t.equal(await isBlinking(board), false)
  })
})

/** Submits a form as pages do without a script, and returns what is shown then. */
async function submitted(page: Page, to: string): Promise<string> {
  await page.evaluate((action) => {
    const form = document.createElement('form')
    Object.assign(form, { action, method: 'POST' })
    form.innerHTML = '<input name="on" value="1">'
    document.body.append(form)
    form.submit()
  }, to)
  await page.waitForURL(to)
  return (await page.textContent('body')) ?? ''
}

/** The same from within a sandboxed frame, whose Origin is `null`; nobody sees the answer there. */
async function submitFromNowhere(page: Page, site: string, to: string): Promise<void> {
  await page.goto(site)
  await page.evaluate((action) => {
    const frame = document.createElement('iframe')
    frame.setAttribute('sandbox', 'allow-scripts allow-forms')
    frame.srcdoc = `<form method="POST" action="${action}"><input name="on" value="1"></form><script>document.forms[0].submit()</script>`
    document.body.append(frame)
  }, to)
}

/** Waits until one board has found another. */
async function found(by: RunningBoard, other: RunningBoard): Promise<void> {
  await until('one has found the other', async () => {
    const { body } = await by.get('/api/peers', PASSWORD)
    return body.some((peer: { url: string; state: string }) => peer.url === other.url && peer.state === 'alive')
  })
}
