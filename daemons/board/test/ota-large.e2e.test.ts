/** An image as large as boards get them: 2 GiB through the real interface, and the memory it takes. */
import { existsSync, statfsSync, statSync } from 'node:fs'
import { request } from 'node:http'
import { tmpdir } from 'node:os'
import { pipeline, Readable } from 'node:stream'
import t from 'tap'
import { forgetMost, mostResidentMb } from '#kit/test/process-memory.ts'
import { headOf } from './made-image.ts'
import { otaRig } from './ota-rig.ts'

const GIB = 2 ** 30
const sizeBytes = 2 * GIB
/** The hash of that many zeros: `head -c 2147483648 /dev/zero | sha256sum`. */
const sha256 = 'a7c744c13cc101ed66c29f672f92455547889cc586ce6d44fe76ae824958ea51'
/**
 * How much the memory of an idle board is allowed to grow: pieces written but not collected yet, of which V8 looks after
 * the first 64 MB only when it has a moment, and compiled code. 50 to 100 on a busy machine, for 2 GiB.
 */
const MOST_MB = 150

const { bavail, bsize } = statfsSync(tmpdir())
const skip = bavail * bsize > 3 * GIB ? false : `less than 3 GiB are free in ${tmpdir()}`

t.test('B.ota 2 GiB are installed with flat memory', { skip }, async (t) => {
  const { board, privateKey, installed, left } = await otaRig(t, { sets: ['ota.receive_ms=160000'], keep: 'ln' })
  const head = headOf(privateKey, {
    compatible: 'plantroom-board',
    version: '2.0.0',
    floor: null,
    sizeBytes,
    sha256,
  })
  await board.get('/api/status')
  const beforeMb = forgetMost(board.pid)
  const startedMs = performance.now()
  const status = await new Promise<number>((resolve, reject) => {
    const headers = { 'content-length': head.length + sizeBytes }
    const call = request(`${board.url}/api/ota`, { method: 'POST', headers }, (response) => {
      response.resume()
      resolve(response.statusCode ?? 0)
    })
    call.on('error', reject)
    pipeline(Readable.from(zerosAfter(head)), call, () => {})
  })
  const tookS = (performance.now() - startedMs) / 1000
  const peakMb = mostResidentMb(board.pid)
  t.equal(status, 200)
  t.ok(peakMb - beforeMb < MOST_MB, `${beforeMb.toFixed(0)} MB before, at most ${peakMb.toFixed(0)} MB`)
  t.comment(
    `${tookS.toFixed(1)} s, ${(sizeBytes / 1e6 / tookS).toFixed(0)} MB/s, ${beforeMb} MB before, peak ${peakMb} MB`,
  )
  t.equal(existsSync(installed) && statSync(installed).size, head.length + sizeBytes)
  t.same(left(), [])
})

function* zerosAfter(head: Uint8Array): Generator<Uint8Array> {
  yield head
  const piece = new Uint8Array(65_536)
  for (let bytes = 0; bytes < sizeBytes; bytes += piece.length) yield piece
}
