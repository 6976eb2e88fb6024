/** Images on a real disk, and on one that fails: nothing stays except what was handed over. */
import { existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { open } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { createFileInstaller, type FileInstallerOptions } from '../../io/firmware.ts'

function rig(t: Test, options: Partial<FileInstallerOptions> = {}) {
  const state = mkdtempSync(join(tmpdir(), 'firmware-'))
  t.teardown(() => rmSync(state, { recursive: true, force: true }))
  const folder = join(state, 'firmware')
  const handed: { path: string; text: string; mode: number }[] = []
  const installer = createFileInstaller({
    folder,
    reserveBytes: 1000,
    refuseUnready: async () => {},
    async handOver(path) {
      handed.push({ path, text: readFileSync(path, 'utf8'), mode: statSync(path).mode & 0o777 })
    },
    ...options,
  })
  return { folder, installer, handed }
}

t.test('B.ota an image is handed over as a separate file, and is gone afterwards', async (t) => {
  const { folder, installer, handed } = rig(t)
  const slot = await installer.begin(10)
  await slot.write(Buffer.from('01234'))
  await slot.write(Buffer.from('56789'))
  t.same(readdirSync(folder), ['incoming.tmp'], 'under a name that says it is incomplete')
  await slot.finish()
  t.same(readdirSync(folder), ['image.tmp'])
  await slot.install()
  t.same(handed, [{ path: join(folder, 'image.tmp'), text: '0123456789', mode: 0o600 }])
  await slot.discard()
  t.notOk(existsSync(folder))
  await slot.discard()
})

t.test('B.ota a discarded slot leaves nothing', async (t) => {
  const { folder, installer, handed } = rig(t)
  const slot = await installer.begin(10)
  await slot.write(Buffer.from('01234'))
  await slot.discard()
  t.notOk(existsSync(folder))
  t.same(handed, [])
})

t.test('B.ota leftovers of a power cut are removed, at the start and by the next image', async (t) => {
  const { folder, installer } = rig(t)
  mkdirSync(folder)
  writeFileSync(join(folder, 'incoming.tmp'), 'half')
  writeFileSync(join(folder, 'image.tmp'), 'whole, and nobody installed it')
  await (await installer.begin(1)).finish()
  t.equal(readFileSync(join(folder, 'image.tmp'), 'utf8'), '')
  await installer.clear()
  t.notOk(existsSync(folder))
})

t.test('B.ota an image that does not fit without using the reserve is refused at once', async (t) => {
  const { folder, installer } = rig(t, { freeBytes: async () => 5000 })
  await t.rejects(installer.begin(4001), {
    code: 'image_no_room',
    message: 'the image has 4001 bytes, and 4000 are free beside the 1000 that stay so',
  })
  t.ok((await installer.begin(4000)).write)
  t.same(readdirSync(folder), ['incoming.tmp'])
})

t.test('B.ota a disk that fills up anyway, or fails, is reported', async (t) => {
  for (const [errno, code] of [
    ['ENOSPC', 'image_no_room'],
    ['EDQUOT', 'image_no_room'],
    ['EIO', 'image_not_kept'],
  ] as const) {
    const { folder, installer } = rig(t, { openFile: (path) => failingFile(path, errno) })
    const slot = await installer.begin(10)
    await slot.write(Buffer.from('01'))
    await t.rejects(slot.write(Buffer.from('234')), { code }, errno)
    await slot.discard()
    t.notOk(existsSync(folder))
  }
})

t.test('B.ota a disk that cannot save an image is reported, and the image is not handed over', async (t) => {
  const { installer, handed } = rig(t, {
    async openFile(path) {
      const file = await open(path, 'wx')
      file.sync = () => Promise.reject(Object.assign(new Error('EIO'), { code: 'EIO' }))
      return file
    },
  })
  const slot = await installer.begin(10)
  await t.rejects(slot.finish(), {
    code: 'image_not_kept',
    message: 'the image could not be saved: the disk answered EIO',
  })
  await slot.discard()
  t.same(handed, [])
})

t.test('B.ota an installer that fails says why, and the image is removed', async (t) => {
  const { folder, installer } = rig(t, { handOver: () => Promise.reject(new Error('slot B is not there')) })
  const slot = await installer.begin(1)
  await slot.finish()
  await t.rejects(slot.install(), { code: 'image_not_installed', message: /not installed: slot B is not there/ })
  await slot.discard()
  t.notOk(existsSync(folder))
})

/** Takes two bytes, then fails, and takes one byte at a time before. */
async function failingFile(path: string, errno: string) {
  const file = await open(path, 'wx')
  const write = file.write.bind(file) as (
    bytes: Uint8Array,
    at: number,
    length: number,
  ) => ReturnType<typeof file.write>
  let bytes = 0
  file.write = ((piece: Uint8Array, at: number) => {
    if (bytes++ >= 2) return Promise.reject(Object.assign(new Error(errno), { code: errno }))
    return write(piece, at, 1)
  }) as typeof file.write
  return file
}
