/**
 * A card, from its first start to its worst day, on an emulated board: first start, a Modbus device on its serial line,
 * updates through /api/ota that have to work and that have to be refused, and one that does not start.
 */
import { spawn } from 'node:child_process'
import { createReadStream, statSync } from 'node:fs'
import { request } from 'node:http'
import { connect } from 'node:net'
import { join } from 'node:path'
import t from 'tap'
import { startModbusLine } from '../../sim/modbus-device.ts'
import { checkout } from '../../vm/guest.ts'
import { type Board, openBed } from '../emulated-board.ts'

/** An update, and the minute in which it shows that it is good, ms. */
const GOOD_MS = 400_000

const sent = join(checkout, 'build/image/test')
const bed = openBed()
const wire = join(bed.folder, 'wire')
t.teardown(() => bed.close())
let board: Board

const seconds = (ms: number) => `${Math.round(ms / 1000)} s`
const slotNow = async () => JSON.parse(await board.must('plantroom slot --json'))
const bootState = async () => await board.must('/usr/lib/plantroom-image/boot-state show')

/** Sends an image as a person would. @returns status and body of the answer */
async function send(file: string): Promise<{ status: number; body: string }> {
  const words = [
    '--silent',
    '--show-error',
    '--max-time',
    '900',
    '--upload-file',
    join(sent, file),
    '--request',
    'POST',
  ]
  const curl = spawn('curl', [...words, '--write-out', '\n%{http_code}', `${board.page}/api/ota`])
  let out = ''
  curl.stdout.setEncoding('utf8').on('data', (text: string) => {
    out += text
  })
  await new Promise((resolve) => curl.once('close', resolve))
  const lines = out.split('\n')
  return { status: Number(lines.at(-1)), body: lines.slice(0, -1).join('\n') }
}

/** Sends the first part of an image, and hangs up. */
async function sendHalf(file: string): Promise<void> {
  const path = join(sent, file)
  const half = Math.floor(statSync(path).size / 2)
  const call = request(`${board.page}/api/ota`, { method: 'POST', headers: { 'content-length': statSync(path).size } })
  call.on('error', () => {})
  const gone = new Promise((resolve) => call.once('close', resolve))
  createReadStream(path, { end: half })
    .on('end', () => setTimeout(() => call.destroy(), 500))
    .pipe(call, { end: false })
  await gone
}

t.test('the first start ends with a page, by itself', { timeout: 900_000 }, async (t) => {
  board = await bed.powerOn({ wire })
  await board.told('login:')
  const loginMs = performance.now()
  const pageMs = await board.answers()
  t.comment(`page after ${seconds(pageMs)}, ${seconds(performance.now() - loginMs)} after the login prompt`)
  await board.until('systemctl is-system-running --wait | grep -x running')
  t.equal(await board.must('hostname'), 'plantroom-00001234')
  t.match(await board.must('findmnt --noheadings --output OPTIONS /'), /^ro/)
  t.match(await board.must('findmnt --noheadings --output FSTYPE /etc'), /overlay/)
  const dataKb = Number(await board.must('df --output=size /data | tail -n 1'))
  t.ok(dataKb > 1_800_000, `data has grown to the end of the disk: ${dataKb} kB`)
  t.match(await board.must('ls /etc/ssh/ssh_host_*_key.pub'), /ed25519/)
  t.equal(await board.must('cat /sys/class/watchdog/watchdog0/state'), 'active')
  await board.until('plantroom slot | grep -q "^slot A  runs .* good, starts next"', GOOD_MS)
  await board.until('systemctl show --property=ActiveState --value plantroom-slot | grep -qx inactive', GOOD_MS)
  const [totalMb, freeMb] = (await board.must("free --mebi | awk 'NR == 2 { print $2, $7 }'")).split(' ').map(Number)
  const usedMb = (totalMb ?? 0) - (freeMb ?? 0)
  t.comment(`${usedMb} MiB of memory in use, board idle`)
  t.ok(usedMb < 180, `${usedMb} MiB in use`)
})

t.test('the gateway reads a Modbus device on a serial line', { timeout: 600_000 }, async (t) => {
  const line = connect(wire)
  t.teardown(() => line.destroy())
  const stop = startModbusLine({
    onBytes: (handler) => void line.on('data', handler),
    write: (bytes) => new Promise<void>((resolve) => line.write(bytes, () => resolve())),
  })
  t.teardown(stop)
  await board.must('systemctl enable --now plantroom-gateway', 240_000)
  const ask = async (method: string, path: string, body: object, token = '') => {
    const headers = { 'content-type': 'application/json', host: '10.0.2.15:3132', authorization: `Bearer ${token}` }
    const call = request(`${board.gateway}${path}`, { method, headers })
    call.end(JSON.stringify(body))
    const answer = await new Promise<import('node:http').IncomingMessage>((resolve, reject) => {
      call.once('response', resolve).once('error', reject)
    })
    let text = ''
    for await (const piece of answer) text += piece
    return { status: answer.statusCode, body: JSON.parse(text) }
  }
  const made = await ask('POST', '/api/setup', { username: 'admin', password: 'a long enough one' })
  t.equal(made.status, 201, JSON.stringify(made.body))
  const port = `/api/ports/${encodeURIComponent((await board.must('ls /dev/ttyS*')).split('\n')[0] ?? '')}`
  const { token } = made.body
  const settings = {
    protocol: 'modbus-rtu',
    line: { baud: 19200, parity: 'even' },
    settings: { response_timeout_ms: 5000 },
  }
  const opened = await ask('PUT', port, settings, token)
  t.equal(opened.status, 200, JSON.stringify(opened.body))
  const read = await ask('POST', `${port}/rest/request`, { unitId: 1, fc: 4, address: 0, quantity: 2 }, token)
  t.equal(read.status, 200, JSON.stringify(read.body))
  t.comment(JSON.stringify(read.body))
})

t.test('what is no good image is refused, and the running system stays', { timeout: 1_500_000 }, async (t) => {
  const before = await bootState()
  t.match(await send('stranger.img'), { status: 422, body: /image_untrusted/ })
  t.match(await send('tampered.img'), { status: 422, body: /image_damaged/ })
  await sendHalf('tampered.img')
  await board.until('! ls /data/var/lib/private/plantroom/board/firmware 2>/dev/null | grep -q .')
  t.equal(await bootState(), before, 'nothing was written to a slot')
  const inside = await send('stranger-inside.img')
  t.match(inside.body, /image_not_installed/)
  t.match(inside.body, /signature|verif/i)
  const tampered = await send('tampered-inside.img')
  t.match(tampered.body, /image_not_installed/)
  t.match(await bootState(), /ORDER=A B\nA_OK=1\nA_LEFT=3\nB_OK=0/, 'the slot that it spoilt is marked bad')
  t.equal(await board.must('ls -A /data/ota | grep -v floor || true'), '', 'no bundle is left')
})

t.test('a good image runs after the restart, with every setting', { timeout: 1_500_000 }, async (t) => {
  const beganMs = performance.now()
  t.match(await send('v2.img'), { status: 200, body: /"installed":true,"version":"0.2.0"/ })
  t.comment(`sent and installed in ${seconds(performance.now() - beganMs)}`)
  await board.told(/slot B: /)
  await board.answers()
  await board.until('plantroom slot | grep -q "^slot B  runs"')
  t.match((await (await fetch(`${board.page}/api/ota`)).json()).last, { result: 'on_trial', version: '0.2.0' })
  await board.until('grep -q good /var/lib/plantroom-slots/outcome.json', GOOD_MS)
  t.match(await slotNow(), {
    running: { slot: 'B', version: '0.2.0', is_good: true, starts_left: 3 },
    other: { slot: 'A', is_good: true },
    next: 'B',
    last: { result: 'good' },
  })
  t.equal(await board.must('hostname'), 'plantroom-00001234')
  t.equal(await board.must('systemctl is-active plantroom-gateway'), 'active', 'what was switched on stays so')
  t.match(await board.must('plantroom status || true'), /kept over updates:\n(.*\n)*.*plantroom-gateway\.service/)
})

t.test('an image whose board does not start is taken back, and the page says so', { timeout: 1_800_000 }, async (t) => {
  t.match(await send('broken.img'), { status: 200 })
  await board.told(/slot A: /, 2)
  await board.told(/slot B: /, 2)
  await board.answers()
  await board.until('grep -q fell_back /var/lib/plantroom-slots/outcome.json')
  const { last } = await (await fetch(`${board.page}/api/ota`)).json()
  t.match(last, { result: 'fell_back', version: '0.3.0', runs: '0.2.0', why: /plantroom-board/ })
  await board.until('plantroom slot | grep -q "^slot A .* not good"', GOOD_MS)
  t.match(await slotNow(), { running: { slot: 'B', version: '0.2.0', is_good: true }, next: 'B' })
  t.equal(await board.must('systemctl is-enabled plantroom-gateway'), 'enabled')
})

t.test('a system that stops in emergency mode restarts by itself', { timeout: 900_000 }, async (t) => {
  await board.run('systemctl emergency')
  await board.told('It restarts in a minute')
  await board.told(/slot B: /, 3)
  await board.answers()
  t.equal((await slotNow()).running.slot, 'B')
})
