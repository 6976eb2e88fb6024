import t from 'tap'
import { checkTargetHost } from '#kit/net/target.ts'
import { type CameraRecord, createCameraBook } from '../../../core/cameras/book.ts'
import type { Camera } from '../../../core/cameras/camera.ts'

const all = { cameras: 'all' } as const

function stage(most = 8, licensed: number | null = null) {
  const lives: string[] = []
  let ids = 0
  const disk: { records: CameraRecord[] } = { records: [] }
  const book = createCameraBook({
    licensed: () => licensed,
    ...{ records: [], most, checkHost: checkTargetHost, newId: () => `c${Math.ceil(++ids / 2)}` },
    async save(records) {
      disk.records = records
    },
    make(record) {
      const at = new URL(record.url).host
      return {
        start: () => lives.push(`${at} starts`),
        stop: async () => lives.push(`${at} stops`),
      } as unknown as Camera
    },
  })
  return { book, disk, lives }
}

t.test('a user and a password in the address are taken out of it', async (t) => {
  const { book } = stage()
  const { record } = await book.add({ name: 'Door', url: 'rtsp://ann:a%40b@10.0.0.5:8554/one#x' })
  t.match(record, { url: 'rtsp://10.0.0.5:8554/one', username: 'ann', password: 'a@b' })
})

t.test('no camera is at an address to which nothing is sent', async (t) => {
  const { book } = stage()
  for (const host of [
    '169.254.169.254',
    '[fd00:ec2::254]',
    '100.100.100.200',
    '224.0.0.1',
    '0.0.0.0',
    '[fe80::1]',
    '[::ffff:169.254.169.254]',
    '2852039166',
    '0xa9fea9fe',
    '0251.0376.0251.0376',
    '169.254.169.254.',
    '0',
  ])
    await t.rejects(book.add({ name: 'x', url: `rtsp://${host}/one` }), { code: 'bad_target' }, host)
  for (const url of ['http://10.0.0.5/', 'rtsp://', 'rtsps://10.0.0.5/', 'file:///etc/passwd', 'rtsp:10.0.0.5'])
    await t.rejects(book.add({ name: 'x', url }), { code: 'bad_stream_url' }, url)
})

t.test('a new address takes no login of the old one along, and is recorded from there', async (t) => {
  const { book, disk, lives } = stage()
  const { record } = await book.add({ name: 'Door', url: 'rtsp://10.0.0.5/one', username: 'ann', password: 'secret' })
  await book.change(record.id, { url: 'rtsp://10.0.0.6/one' })
  t.match(disk.records, [{ id: record.id, url: 'rtsp://10.0.0.6/one', username: null, password: null }])
  t.same(lives, ['10.0.0.5 starts', '10.0.0.5 stops', '10.0.0.6 starts'])
  await t.rejects(book.change(record.id, { url: 'rtsp://169.254.169.254/' }), { code: 'bad_target' })
})

t.test('a new password keeps the address and the user, and a new name keeps the connection', async (t) => {
  const { book, lives } = stage()
  const { record } = await book.add({ name: 'Door', url: 'rtsp://10.0.0.5/one', username: 'ann', password: 'secret' })
  t.match((await book.change(record.id, { password: 'other' })).record, { username: 'ann', password: 'other' })
  lives.length = 0
  await book.change(record.id, { name: 'Gate' })
  t.same(lives, ['10.0.0.5 starts'], 'which does nothing to one that runs')
  await book.change(record.id, { enabled: false })
  t.same(lives.at(-1), '10.0.0.5 stops')
})

t.test('each camera has an id of its own, and as many fit as the setting says', async (t) => {
  const { book } = stage(3)
  for (const name of ['one', 'two', 'three']) await book.add({ name, url: 'rtsp://10.0.0.5/' })
  t.equal(new Set(book.list().map(({ record }) => record.id)).size, 3)
  await t.rejects(book.add({ name: 'four', url: 'rtsp://10.0.0.5/' }), { code: 'too_many_cameras' })
})

t.test('a camera that an account may not see is refused like one that is not there', async (t) => {
  const { book } = stage()
  const { record } = await book.add({ name: 'Door', url: 'rtsp://10.0.0.5/' })
  t.equal(book.require(record.id, all).record, record)
  const refusals = [
    () => book.require(record.id, { cameras: ['other'] }),
    () => book.require('other', { cameras: ['other'] }),
    () => book.require('other', all),
    () => book.require('', { cameras: [''] }),
  ].map((ask) => {
    try {
      ask()
    } catch (error) {
      return String(error)
    }
    return 'found'
  })
  t.equal(new Set(refusals).size, 1)
  t.match(refusals[0], /no camera with this id/)
  t.same(book.seenBy({ cameras: ['other'] }), [])
})

t.test(
  'a second address is one of the same host, takes no login of its own, and goes with a new first one',
  async (t) => {
    const { book, disk } = stage()
    const wish = { name: 'Door', url: 'rtsp://10.0.0.5/one', username: 'ann', password: 'secret' }
    const { record } = await book.add({ ...wish, subUrl: 'rtsp://bob:x@10.0.0.5:8554/two' })
    t.equal(record.subUrl, 'rtsp://10.0.0.5:8554/two')
    for (const subUrl of ['rtsp://10.0.0.6/two', 'http://10.0.0.5/two', 'two', 'rtsp://10.0.0.5@10.0.0.6/'])
      await t.rejects(book.change(record.id, { subUrl }), { code: 'bad_sub_url' }, subUrl)
    t.equal((await book.change(record.id, { name: 'Gate' })).record.subUrl, record.subUrl)
    await book.change(record.id, { subUrl: 'rtsp://167772165/three' })
    t.match(disk.records, [{ subUrl: 'rtsp://167772165/three', username: 'ann', password: 'secret' }])
    t.equal((await book.change(record.id, { subUrl: null })).record.subUrl, null)
    await book.change(record.id, { subUrl: 'rtsp://10.0.0.5/two' })
    t.equal((await book.change(record.id, { url: 'rtsp://10.0.0.5/four' })).record.subUrl, null)
  },
)

t.test('3A.license one camera more than the licence has is refused, and those that are there stay', async (t) => {
  const { book } = stage(8, 1)
  await book.add({ name: 'Door', url: 'rtsp://10.0.0.5/one' })
  const refused = book.add({ name: 'Yard', url: 'rtsp://10.0.0.6/one' })
  await t.rejects(refused, { code: 'license_camera_limit', details: { code: 'license_camera_limit' } })
  t.equal(book.list().length, 1)
  await t.rejects(stage(8, 0).book.add({ name: 'x', url: 'rtsp://10.0.0.5/' }), { message: /^There is no licence for/ })
  await t.rejects(stage(0, 4).book.add({ name: 'x', url: 'rtsp://10.0.0.5/' }), { code: 'too_many_cameras' })
})
