/** HTTPS of the built gateway, with curl, a WebSocket, a browser, and clients that never finish their handshake. */
import { execFile } from 'node:child_process'
import { createHash, X509Certificate } from 'node:crypto'
import { once } from 'node:events'
import { readFileSync, writeFileSync } from 'node:fs'
import { connect, type Socket } from 'node:net'
import { join } from 'node:path'
import { type ConnectionOptions, connect as connectTls, type TLSSocket } from 'node:tls'
import { promisify } from 'node:util'
import t from 'tap'
import WebSocket from 'ws'
import { serverRows, tlsRow } from '#kit/pure/memory-plan.ts'
import { residentMb } from '#kit/test/process-memory.ts'
import { startDaemon, stateFolderOf } from '#kit/test/running-daemon.ts'
import { until } from '#kit/test/until.ts'
import { launchBrowser, noBrowser } from '#kit/test/web/page-rig.ts'
import { password } from './running-gateway.ts'

const COMMAND = join(import.meta.dirname, '../../../build/plantroom')
const call = promisify(execFile)

const folder = stateFolderOf(t)
const [stateFolder, caFile] = [join(folder, 'state'), join(folder, 'ca.pem')]
const sets = ['http.tls=true', 'http.tls_handshake_ms=60000', 'http.keep_alive_ms=60000', 'mdns.enabled=false']
const gateway = await startDaemon(t, 'gateway', { sets, stateFolder })
const plainUrl = gateway.url.replace('https:', 'http:')
const port = Number(new URL(gateway.url).port)

interface Said {
  /** Exit code of curl. */
  code: number
  out: string
}

async function curl(...args: string[]): Promise<Said> {
  const done = await call('curl', ['-sS', '--max-time', '50', ...args]).catch((error) => error)
  return { code: done.code ?? 0, out: `${done.stdout}${done.code ? done.stderr : ''}` }
}

/** JSON over HTTPS, checked against the root. */
async function ask(path: string, ...args: string[]) {
  const { out } = await curl('--cacert', caFile, ...args, gateway.url + path)
  return JSON.parse(out)
}

const json = (body: object) => ['-H', 'content-type: application/json', '-d', JSON.stringify(body)]
let token = ''

t.before(async () => {
  const { code, out } = await curl('-k', `${gateway.url}/api/system/ca-cert`)
  t.equal(code, 0)
  writeFileSync(caFile, out)
  token = (await ask('/api/setup', ...json({ username: 'admin', password }))).token
})

t.test('curl with the root is served under the address and the name, and without it refuses', async (t) => {
  t.match(gateway.url, /^https:\/\/127\.0\.0\.1:\d+$/)
  t.match(await ask('/api/status'), { product: 'Plantroom gateway', adminConfigured: true })
  const named = gateway.url.replace('127.0.0.1', 'localhost')
  t.match((await curl('--cacert', caFile, '--resolve', `localhost:${port}:127.0.0.1`, `${named}/api/status`)).code, 0)
  t.equal((await curl(`${gateway.url}/api/status`)).code, 60, 'curl: the certificate could not be verified')
  await until('the log says why', () => gateway.output().includes('tls_handshakes_failed'))
  t.match(gateway.output(), /tls_handshakes_failed times=\d+ last=.*unknown ca/)
})

t.test('A.endpoints the root is a certificate of a CA, whose fingerprint the log has', async (t) => {
  const root = new X509Certificate(readFileSync(caFile))
  t.equal(root.ca, true)
  t.match(root.subject, /CN=Plantroom gateway .* CA [0-9a-f]{8}/)
  t.match(gateway.output(), `root certificate fingerprint=${root.fingerprint256}`)
  const head = (await curl('-k', '-I', '-X', 'GET', `${gateway.url}/api/system/ca-cert`)).out
  t.match(head, /content-type: application\/x-x509-ca-cert/)
})

t.test('A.endpoints the system tells the certificate, its root, sensors and lines', async (t) => {
  const { tls, temperatures, serialLines } = await ask('/api/system', '-H', `authorization: Bearer ${token}`)
  const root = new X509Certificate(readFileSync(caFile))
  t.match(tls, { isOn: true, rootFingerprint: root.fingerprint256, outside: [] })
  t.ok(tls.leaf.names.includes('localhost') && tls.leaf.endsAt > Date.now() && tls.leaf.endsAt < tls.rootEndsAt)
  t.ok(Array.isArray(temperatures) && Array.isArray(serialLines))
})

t.test('plain HTTP on the port is redirected, whatever the method', async (t) => {
  const said = await curl('-i', `${plainUrl}/api/status?x=1`)
  t.match(said.out, /^HTTP\/1\.1 308 /)
  t.match(said.out, `location: ${gateway.url}/api/status?x=1\r\n`)
  const login = json({ username: 'admin', password })
  const followed = await curl('-L', '--cacert', caFile, ...login, `${plainUrl}/api/login`)
  t.match(JSON.parse(followed.out), { token: /./ }, 'POST stays POST, with its body')
  t.notMatch(said.out, /strict-transport-security/i)
})

t.test('the live feed is a wss:// of the same port', async (t) => {
  const headers = { authorization: `Bearer ${token}` }
  const socket = new WebSocket(`wss://127.0.0.1:${port}/ws`, { ca: readFileSync(caFile), headers })
  t.teardown(() => socket.terminate())
  await once(socket, 'open')
  socket.send(JSON.stringify({ subscribe: [{}] }))
  const [message] = await once(socket, 'message')
  t.type(JSON.parse(String(message)), 'object')
})

t.test('hundreds of handshakes that are never finished keep nobody out', async (t) => {
  const sockets: Socket[] = []
  t.teardown(() => sockets.map((socket) => socket.destroy()))
  let ended = 0
  for (let n = 0; n < 400; n++) {
    const socket = connect({ port, host: '127.0.0.1', localAddress: `127.0.0.${2 + (n % 8)}` })
    socket
      .on('error', () => {})
      .on('close', () => ended++)
      .resume()
    // A record that announces a ClientHello of 512 bytes, and no more; some say nothing at all.
    if (n % 3 > 0) socket.write(Buffer.from([0x16, 3, 1, 2, 0, 1, 0, 1, 252]))
    sockets.push(socket)
  }
  await until('the oldest made room', () => ended >= 400 - 128)
  t.match(await ask('/api/status'), { adminConfigured: true })
  const metrics = (await curl('--cacert', caFile, '-H', `authorization: Bearer ${token}`, `${gateway.url}/metrics`)).out
  const crowded = Number(/tls_handshakes_total\{end="crowded"\} (\d+)/.exec(metrics)?.[1])
  t.ok(crowded >= 400 - 128, `${crowded} made room`)
  const own = connect({ port, host: '127.0.0.1' }).on('error', () => {})
  own.write(Buffer.from([0x16, 3, 1]))
  t.teardown(() => own.destroy())
  t.match(await ask('/api/status'), { adminConfigured: true }, 'from an address of the attackers too')
})

t.test('a hundred encrypted connections take no more than their rows say', async (t) => {
  const ca = readFileSync(caFile)
  const open: TLSSocket[] = []
  t.teardown(() => open.map((socket) => socket.destroy()))
  async function come(): Promise<void> {
    const socket = connectTls({ port, host: '127.0.0.1', ca, localAddress: '127.0.0.99' } as ConnectionOptions)
    socket.on('error', () => {})
    await once(socket, 'secureConnect')
    socket.write('GET /api/status HTTP/1.1\r\nHost: x\r\n\r\n')
    await once(socket, 'data')
    open.push(socket)
  }
  // What the first ones load is the daemon's own.
  for (let n = 0; n < 20; n++) await come()
  const before = residentMb(gateway.pid)
  for (let n = 0; n < 100; n++) await come()
  const setting = (name: string) => (name === 'http.max_connections' ? 100 : 0)
  const rows = [tlsRow(), ...serverRows().filter(({ what }) => what === 'HTTP connections')]
  const allowed = rows.reduce((sum, row) => sum + Number(row.each) * setting(String(row.many)), 0)
  t.ok((residentMb(gateway.pid) - before) * 1e6 < allowed, `${allowed} bytes`)
})

t.test('no answer and no log holds a private key', async (t) => {
  const file = readFileSync(join(stateFolder, 'tls.json'), 'utf8')
  const { root, leaf } = JSON.parse(file)
  const { out } = await curl('--cacert', caFile, '-H', `authorization: Bearer ${token}`, `${gateway.url}/api/system`)
  for (const { key } of [root, leaf])
    for (const line of key.split('\n').filter((part: string) => part.length > 20 && !part.startsWith('-'))) {
      t.notMatch(out + readFileSync(caFile, 'utf8'), line)
      t.notMatch(gateway.output(), line)
    }
})

t.test('the page works over HTTPS in a browser, and opens the live feed', { skip: noBrowser }, async (t) => {
  // The browser is told this one key; that it would trust the root is for a browser with a store of its own.
  const { leaf } = JSON.parse(readFileSync(join(stateFolder, 'tls.json'), 'utf8'))
  const spki = new X509Certificate(leaf.certificate).publicKey.export({ type: 'spki', format: 'der' })
  const pin = createHash('sha256').update(spki).digest('base64')
  const browser = await launchBrowser(t, [`--ignore-certificate-errors-spki-list=${pin}`])
  const page = await browser.newPage()
  const complaints: string[] = []
  page.on('console', (message) => message.type() === 'error' && complaints.push(message.text()))
  await page.goto(`${plainUrl}/`)
  t.equal(new URL(page.url()).protocol, 'https:', 'the address without s leads there')
  await page.evaluate((kept) => sessionStorage.setItem('plantroom.token', kept), token)
  await page.reload()
  await page.evaluate(() => {
    location.hash = '#/system'
  })
  const panel = page.locator('section[aria-label=Certificate]')
  await panel.getByText('HTTPS', { exact: true }).waitFor()
  await panel.getByText(new X509Certificate(readFileSync(caFile)).fingerprint256).waitFor()
  await panel.getByText('localhost').waitFor()
  const coming = page.waitForEvent('download')
  await panel.getByRole('button', { name: 'Download root CA' }).click()
  const saved = await coming
  t.equal(saved.suggestedFilename(), 'plantroom-gateway-ca.crt')
  t.equal(readFileSync(await saved.path(), 'utf8'), readFileSync(caFile, 'utf8'))
  t.equal(await page.evaluate(() => window.isSecureContext), true)
  const feed = await page.evaluate(async (bearer) => {
    const asked = await fetch('/api/ticket', { method: 'POST', headers: { authorization: `Bearer ${bearer}` } })
    const { ticket } = await asked.json()
    const socket = new WebSocket(`wss://${location.host}/ws?ticket=${ticket}`)
    return await new Promise((resolve) => {
      socket.onopen = () => resolve('open')
      socket.onclose = () => resolve('refused')
    })
  }, token)
  t.equal(feed, 'open', 'the live feed, from the page')
  t.same(complaints, [])
})

t.test('a restart with another name renews the certificate; the root, and a backup of it, stay', async (t) => {
  const before = readFileSync(join(stateFolder, 'tls.json'), 'utf8')
  const [backup, other] = [join(folder, 'backup.tar.gz'), join(folder, 'other')]
  await call(COMMAND, ['backup', 'gateway', '--state', stateFolder, backup])
  await call(COMMAND, ['restore', 'gateway', '--state', other, backup])
  const next = await startDaemon(t, 'gateway', { sets: [...sets, 'http.hosts=["pump.local"]'], stateFolder: other })
  const place = new URL(next.url).port
  const args = [
    '--cacert',
    caFile,
    '--resolve',
    `pump.local:${place}:127.0.0.1`,
    `https://pump.local:${place}/api/status`,
  ]
  t.match(JSON.parse((await curl(...args)).out), { adminConfigured: true }, 'by the root of the gateway before')
  const { root, leaf } = JSON.parse(readFileSync(join(other, 'tls.json'), 'utf8'))
  t.same(root, JSON.parse(before).root)
  t.not(leaf.key, JSON.parse(before).leaf.key)
})
