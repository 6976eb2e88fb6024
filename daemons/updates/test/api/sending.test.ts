/** Which answers count as the end of a download: daemons/updates/api/sending.ts. */
import { t } from 'tap'
import type { WrittenBody } from '#kit/http/route.ts'
import { sendFile } from '../../api/sending.ts'
import type { Transfers } from '../../core/releases/transfers.ts'

const SIZE = 1000
const checksum = 'c'.repeat(64)
const sendable = { file: 'a-file', checksum, sizeBytes: SIZE, filename: 'update-1.0.0.tar.gz.enc', release: '1.0.0' }

/** @returns whether it counts */
async function isCounted(range: string | undefined, isOffloaded: boolean, takenBytes = SIZE): Promise<boolean> {
  let isSent = false
  const headers = { ...(range && { range }), 'x-sendfile-type': 'X-Accel-Redirect' }
  const reply = await sendFile(sendable, {
    ...{ ask: { headers }, isOffloaded, receiver: { share: undefined, installation: 'i' } },
    transfers: { begin: () => ({ sends() {}, leave() {} }) } as unknown as Transfers,
    files: { read: async () => ({ read: async (into) => into.length, close: async () => {} }) },
    onSent: () => {
      isSent = true
    },
  })
  if (isOffloaded) return isSent
  let left = takenBytes
  const write = async (piece: Uint8Array) => {
    left -= piece.length
    if (left < 0) throw new Error('it hung up')
  }
  await (reply.body as WrittenBody).writeAll({ write, cut() {} }).catch(() => {})
  return isSent
}

for (const isOffloaded of [false, true])
  t.test(`a download counts at its end, ${isOffloaded ? 'by nginx' : 'from the server itself'}`, async (t) => {
    for (const range of [undefined, 'bytes=0-', 'bytes=999-', 'bytes=400-999', 'bytes=-1000', 'bytes=-5000'])
      t.ok(await isCounted(range, isOffloaded), `${range}`)
    for (const range of ['bytes=-1', 'bytes=-999', ' bytes=-1', 'bytes=0-0', 'bytes=0-998'])
      t.notOk(await isCounted(range, isOffloaded), range)
  })

t.test('a download that is cut before its last byte was taken does not count', async (t) => {
  t.notOk(await isCounted(undefined, false, SIZE - 1))
  t.notOk(await isCounted('bytes=400-', false, 599))
})
