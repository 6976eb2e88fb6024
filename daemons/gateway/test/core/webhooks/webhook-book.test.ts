import t from 'tap'
import { bookWith } from './webhook-fixtures.ts'

const port = '/dev/ttyUSB0'

const untouched = {
  counters: { delivered: 0, failed: 0, dropped: 0, retried: 0, queued: 0 },
  lastError: null,
  lastDeliveredAt: null,
  pausedUntil: null,
}

t.test('A.webhooks.config a created webhook is answered, listed and sent events', async (t) => {
  const { book, sender, publish, clock } = bookWith()
  const created = await book.create(port, { url: 'http://h/', secret: 's', headers: { A: 'b' } })
  const shown = { id: 'id1', url: 'http://h/', events: [], headers: { A: 'b' }, enabled: true, hasSecret: true }
  t.same(created, { ...shown, ...untouched })
  t.same(await book.list(port), [created])
  t.same(await book.list('/dev/ttyUSB1'), [])
  publish()
  await clock.run(0)
  t.equal(sender.requests.length, 1)
  t.match(await book.list(port), [{ counters: { delivered: 1 }, lastDeliveredAt: clock.epochMs() }])
})

t.test('no answer contains the secret; hasSecret says whether there is one', async (t) => {
  const { book } = bookWith()
  const created = await book.create(port, { url: 'http://h/', secret: 'hidden' })
  const kept = await book.change(port, 'id1', { enabled: false })
  const removed = await book.change(port, 'id1', { secret: null })
  t.same([created.hasSecret, kept.hasSecret, removed.hasSecret], [true, true, false])
  t.notMatch(JSON.stringify([created, kept, removed, await book.list(port)]), /hidden|"secret"/)
})

t.test('A.webhooks.config a webhook is toggled without deleting, and deleted', async (t) => {
  const { book, sender, publish, clock } = bookWith()
  await book.create(port, { url: 'http://h/' })
  await book.change(port, 'id1', { enabled: false })
  publish()
  await book.change(port, 'id1', { enabled: true })
  publish()
  await clock.run(0)
  await book.remove(port, 'id1')
  publish()
  await clock.run(0)
  t.equal(sender.requests.length, 1)
  t.same(await book.list(port), [])
})

t.test('a list that could not be saved changes nothing', async (t) => {
  const { book, disk, sender, publish, clock } = bookWith()
  disk.isFull = true
  await t.rejects(book.create(port, { url: 'http://h/' }), { code: 'store_write_failed' })
  publish()
  await clock.run(0)
  t.same(await book.list(port), [])
  t.same(sender.requests, [])
})

t.test('says which port or webhook is unknown', async (t) => {
  const { book } = bookWith()
  await t.rejects(book.list('/dev/none'), { code: 'unknown_port' })
  await t.rejects(book.create('/dev/none', { url: 'http://h/' }), { code: 'unknown_port' })
  await t.rejects(book.change(port, 'none', {}), { code: 'unknown_webhook' })
  await t.rejects(book.remove(port, 'none'), { code: 'unknown_webhook' })
  await t.rejects(book.test(port, 'none'), { code: 'unknown_webhook' })
})

t.test('refuses more webhooks than webhooks.total over all ports', async (t) => {
  const { book } = bookWith({ total: 2 })
  await book.create(port, { url: 'http://h/' })
  await book.create('/dev/ttyUSB1', { url: 'http://h/' })
  await t.rejects(book.create('/dev/ttyUSB1', { url: 'http://h/' }), { code: 'too_many_webhooks' })
  await book.remove(port, 'id1')
  await book.create('/dev/ttyUSB1', { url: 'http://h/' })
})

t.test('tests a webhook by its id', async (t) => {
  const { book, sender } = bookWith()
  await book.create(port, { url: 'http://h/', enabled: false })
  t.match(await book.test(port, 'id1'), { delivered: true, status: 200, message: 'answered 200' })
  t.equal(sender.requests[0]?.event, 'test')
})
