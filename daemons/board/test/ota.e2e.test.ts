/** Firmware over the real interface of the real board: whatever happens to an upload, the running system continues. */
import { spawnSync } from 'node:child_process'
import { existsSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { until } from '#kit/test/until.ts'
import { imageOf, keysForTest } from './made-image.ts'
import { type OtaRig, otaRig, send } from './ota-rig.ts'
import { startBoard } from './running-board.ts'

const payload = Buffer.alloc(3_000_000, 'plantroom')

/** One board for most tests, in an order that it lives through: first nothing is installed. */
const shared = await otaRig(t)

async function lastStart(): Promise<{ at: number; reason: string }> {
  return (await shared.board.get('/api/status')).body.last_start
}

/** Waits until the board has restarted since that start, and answers. */
async function restartedSince(startedAt: number): Promise<void> {
  await until('it has restarted', async () => {
    const now = await lastStart().catch(() => undefined)
    return now !== undefined && now.at !== startedAt
  })
}

t.test('B.ota whatever is wrong with an image is reported in a sentence, and nothing is left', async (t) => {
  const { board, make, installed, left } = shared
  const stranger = imageOf(keysForTest(t).privateKey, payload)
  const damaged = make(payload)
  damaged[damaged.length - 1] = 0
  const cases: [string, number, Buffer, number | null | undefined][] = [
    ['image_untrusted', 422, stranger, undefined],
    ['image_wrong_board', 422, make(payload, { compatible: 'another' }), undefined],
    ['image_damaged', 422, damaged, undefined],
    ['image_unknown', 400, payload, undefined],
    ['image_unknown', 400, Buffer.alloc(0), undefined],
    ['image_length', 400, make(payload).subarray(0, 2_000_000), undefined],
    ['image_length', 400, make(payload).subarray(0, 2_000_000), null],
    ['image_length', 400, Buffer.concat([make(payload), Buffer.alloc(10)]), null],
  ]
  for (const [error, status, image, lengthBytes] of cases) {
    const sent = await send(board.url, image, lengthBytes === undefined ? {} : { lengthBytes })
    t.match(sent, { status, body: { error, message: String } }, `${error} ${image.length} ${lengthBytes}`)
    t.same(left(), [])
  }
  t.notOk(existsSync(installed))
  t.match((await board.get('/api/status')).body, { ota: { state: 'failed' }, last_start: { reason: 'first' } })
})

t.test('B.ota an installer that fails is reported with its output', async (t) => {
  const { board, make, installed, left } = shared
  const command = join(installed, '../install')
  const works = readFileSync(command)
  t.teardown(() => writeFileSync(command, works))
  writeFileSync(command, '#!/bin/sh\necho slot B is not there; exit 1\n')
  const sent = await send(board.url, make(payload))
  t.match(sent, { status: 502, body: { error: 'image_not_installed', message: /slot B is not there/ } })
  t.same(left(), [])
  t.equal((await board.get('/api/status')).body.last_start.reason, 'first')
})

t.test('B.ota an upload that is cut at any tenth leaves the board as it was', async (t) => {
  const { board, make, installed, left } = shared
  const image = make(payload)
  const { at: startedAt } = await lastStart()
  for (let tenth = 0; tenth < 10; tenth++) {
    const cutAt = Math.max(1, Math.floor((image.length * tenth) / 10))
    const before = (await board.get('/api/status')).body.ota.at
    t.equal((await send(board.url, image, { cutAt })).status, 0)
    const status = async () => (await board.get('/api/status')).body.ota
    await until('failed', async () => {
      const { state, at } = await status()
      return state === 'failed' && at !== before
    })
    const ota = await status()
    t.match(ota, { state: 'failed', fault: { code: 'body_cut' } }, `after ${cutAt} bytes`)
    t.same(left(), [])
  }
  t.notOk(existsSync(installed))
  t.equal((await send(board.url, image)).status, 200, 'a complete one is accepted afterwards')
  await restartedSince(startedAt)
})

t.test('B.ota an image is installed, answered, and the board restarts', async (t) => {
  const { board, make, installed, left } = shared
  const { at: startedAt } = await lastStart()
  const image = make(payload, { version: '2.1.0', floor: '2.0.0' })
  const { status, body } = await send(board.url, image)
  t.equal(status, 200)
  t.match(body, { installed: true, version: '2.1.0', reboots: true, about_s: Number })
  t.ok(readFileSync(installed).equals(image), 'the command had the whole image')
  await restartedSince(startedAt)
  const after = await board.get('/api/status')
  t.equal(after.body.last_start.reason, 'ota')
  t.match(after.body.ota, { state: 'idle', received_bytes: 0, total_bytes: null, version: null, fault: null, at: null })
  t.same(left(), [])
  const journal: { what: string; target: string }[] = (await board.get('/api/journal')).body
  t.match(
    journal.find(({ what }) => what === 'firmware installed'),
    { target: '2.1.0' },
  )
  const old = await send(board.url, make(payload, { version: '1.9.9' }))
  t.match(old, { status: 422, body: { error: 'image_too_old', message: /takes 2\.0\.0 and later/ } })
  t.doesNotThrow(() => process.kill(board.pid, 0), 'by the same process')
})

t.test('B.ota of two at once the second is refused, and the first ends well', async (t) => {
  const { board, make, installed } = shared
  rmSync(installed, { force: true })
  const { at: startedAt } = await lastStart()
  const image = make(payload)
  const { promise, resolve } = Promise.withResolvers<void>()
  const first = send(board.url, image, { pause: { at: 1_000_000, until: promise } })
  await until('receiving', async () => {
    const { ota } = (await board.get('/api/status')).body
    return ota.state === 'receiving' && ota.received_bytes > 500_000
  })
  t.match((await board.get('/api/status')).body.ota, { total_bytes: image.length, version: '2.0.0', fault: null })
  t.match(await send(board.url, image), { status: 409, body: { error: 'ota_busy' } })
  t.notOk(existsSync(installed))
  resolve()
  t.equal((await first).status, 200)
  t.ok(readFileSync(installed).equals(image))
  await restartedSince(startedAt)
})

t.test('B.ota a board that knows no key, or no command, says so', async (t) => {
  const board = await startBoard(t, { sets: ['ota.keys=["/nonexistent"]'] })
  t.match(await send(board.url, payload), { status: 409, body: { error: 'ota_not_set_up', message: /knows no key/ } })
  const { folder, privateKey } = keysForTest(t)
  const other = await startBoard(t, { sets: [`ota.keys=["${folder}"]`] })
  const sent = await send(other.url, imageOf(privateKey, payload))
  t.match(sent, { status: 409, body: { error: 'ota_not_set_up', message: /ota\.command/ } })
  const lacks = async ({ get }: typeof board) => (await get('/api/ota')).body
  t.match(await lacks(board), { takes_images: false, missing: { code: 'ota_not_set_up', message: /knows no key/ } })
  t.match(await lacks(other), { takes_images: false, missing: { code: 'ota_not_set_up', message: /ota\.command/ } })
  t.same(await lacks(shared.board), { takes_images: true, missing: null, last: null })
})

t.test('B.ota a board that loses power during an upload starts as before, with nothing left over', async (t) => {
  const { board, make, installed, left } = shared
  rmSync(installed, { force: true })
  const image = make(payload)
  const cut = send(board.url, image, { stallAt: 2_000_000 })
  await until('receiving', async () => (await board.get('/api/status')).body.ota.received_bytes > 1_900_000)
  t.same(left(), ['incoming.tmp'])
  await board.stop('SIGKILL')
  t.equal((await cut).status, 0)
  t.ok(existsSync(join(board.stateFolder, 'firmware/incoming.tmp')))
  const again = await startBoard(t, { stateFolder: board.stateFolder })
  t.notOk(existsSync(join(board.stateFolder, 'firmware')))
  t.match((await again.get('/api/status')).body, { ota: { state: 'idle' }, last_start: { reason: 'crash' } })
  t.notOk(existsSync(installed))
})

t.test('B.ota an upload that stalls is cut off, and told so', async (t) => {
  const { board, make, left } = await otaRig(t, { sets: ['ota.idle_ms=1000'] })
  const image = make(payload)
  const stalled = await send(board.url, image, { stallAt: 1_000_000 })
  t.match(stalled, { status: 408, body: { error: 'request_timeout', message: /stood still for 1 s/ } })
  t.same(left(), [])
  t.equal((await send(board.url, image)).status, 200)
})

const canMount = spawnSync('unshare', ['-m', 'mount', '-t', 'tmpfs', 'tmpfs', '/mnt']).status === 0
const skip = canMount ? false : 'only root can make a small disk for the test'
/** A disk of 8 MB as the state folder, only for this process. */
const SMALL_DISK = [
  'unshare',
  '-m',
  'sh',
  '-c',
  'mkdir -p STATE && mount -t tmpfs -o size=8m tmpfs STATE && exec "$0" "$@"',
]

/** A board on it. */
let small: Promise<OtaRig> | undefined
const onSmallDisk = () => (small ??= otaRig(t, { within: SMALL_DISK }))

t.test('B.ota an image too large for the disk is refused before it is sent', { skip }, async (t) => {
  const { board, make, left } = await onSmallDisk()
  const large = make(Buffer.alloc(9_000_000))
  t.match(await send(board.url, large, { stallAt: 100_000 }), { status: 507, body: { error: 'image_no_room' } })
  t.same(left(), [])
})

t.test('B.ota a disk that fills up during an upload is reported, and the board keeps running', { skip }, async (t) => {
  const { board, make, installed, left } = await onSmallDisk()
  const image = make(Buffer.alloc(6_000_000))
  const { promise, resolve } = Promise.withResolvers<void>()
  const sent = send(board.url, image, { pause: { at: 3_000_000, until: promise } })
  await until('halfway', async () => (await board.get('/api/status')).body.ota.received_bytes > 2_900_000)
  // As other programs on the same disk do: the free space is used up.
  const filler = join(`/proc/${board.pid}/root`, board.stateFolder, 'filler')
  t.throws(() => writeFileSync(filler, Buffer.alloc(8_000_000)), { code: 'ENOSPC' })
  resolve()
  t.match(await sent, { status: 507, body: { error: 'image_no_room', message: 'the disk is full' } })
  t.same(left(), [])
  t.notOk(existsSync(installed))
  rmSync(filler)
  t.equal((await send(board.url, image)).status, 200, 'and accepts one when there is room again')
})
