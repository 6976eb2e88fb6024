/** What waits for a silence of the line: a send goes out when it is over, unless something comes before. */
import t, { type Test } from 'tap'
import { openPty, PlantroomBinding } from '../index.ts'
import { heardBy, until } from './passing-rig.ts'

const request = Buffer.from('ask')

/** A line on a pty, with what happens on it in order. */
async function bench(t: Test) {
  const pty = openPty()
  const { channel } = await PlantroomBinding.open({ path: pty.path, baudRate: 115_200 })
  t.teardown(async () => {
    await channel.close()
    await pty.close()
  })
  const seen: string[] = []
  channel.listen((bytes) => void seen.push(`read ${bytes}`))
  const end = (name = 'request') => ({
    onSent: (taken: number) => void seen.push(`${name}: sent ${taken}`),
    run: () => void seen.push(`${name}: not sent`),
  })
  return { channel, end, far: heardBy(pty), pty, seen }
}

const usNow = () => Number(process.hrtime.bigint() / 1000n)

t.test('a send goes out when its time is over, and never before', async (t) => {
  const { channel, far, seen } = await bench(t)
  for (let turn = 1; turn <= 50; turn++) {
    const dueUs = usNow() + 300
    let sentUs = 0
    channel.silence.sendAfter(0.3, request, {
      onSent(taken) {
        sentUs = usNow()
        seen.push(`sent ${taken}`)
      },
      run: () => void seen.push('not sent'),
    })
    await until(() => seen.length === turn)
    t.ok(sentUs >= dueUs, `${sentUs - dueUs} us after its time`)
  }
  t.same([...new Set(seen)], ['sent 3'])
  await until(() => far.length === 150)
})

t.test('where there is no time to wait it goes out in the same turn', async (t) => {
  const { channel, end, far, seen } = await bench(t)
  channel.silence.sendAfter(0, request, end())
  t.same(seen, ['request: sent 3'])
  await until(() => far.length === 3)
})

t.test('a byte that comes before is read, and nothing is sent', async (t) => {
  const { channel, end, far, pty, seen } = await bench(t)
  channel.silence.sendAfter(500, request, end())
  await pty.write(Buffer.from('late'))
  await until(() => seen.length === 2)
  t.same(seen, ['read late', 'request: not sent'])
  t.equal(far.length, 0)
})

t.test('so is one that the driver has when the time is over', async (t) => {
  const { channel, end, pty, seen } = await bench(t)
  // Nothing is read meanwhile, as in a process that stalls.
  channel.pause()
  await pty.write(Buffer.from('late'))
  await until(() => channel.native.sendIfQuiet(request) === -1)
  for (const delayMs of [0, 1]) {
    channel.silence.sendAfter(delayMs, request, end())
    await until(() => seen.length === 1)
    t.same(seen.splice(0), ['request: not sent'])
  }
  channel.silence.sendAfter(0, request, end())
  channel.resume()
  await until(() => seen.length === 2)
  t.same(seen, ['read late', 'request: not sent'])
})

t.test('what others write meanwhile goes alone', async (t) => {
  const { channel, end, far, seen } = await bench(t)
  channel.silence.sendAfter(5, request, end())
  await channel.write(Buffer.from('other'))
  await until(() => seen.length === 1)
  t.same(seen, ['request: not sent'])
  await until(() => far.length === 5)
  t.equal(String(far.bytes()), 'other')
})

t.test('while writes are held back nothing is sent', async (t) => {
  const { channel, end, seen } = await bench(t)
  channel.silence.sendAfter(2, request, end('before'))
  channel.blockWrites()
  await until(() => seen.length === 1)
  channel.silence.sendAfter(0, request, end('since'))
  await until(() => seen.length === 2)
  channel.unblockWrites()
  t.same(seen, ['before: not sent', 'since: not sent'])
})

t.test('a send that was cancelled or replaced, or whose line was closed, does not go out', async (t) => {
  const { channel, end, far, seen } = await bench(t)
  const { silence } = channel
  silence.sendAfter(1, Buffer.from('a'), end('a')).cancel()
  silence.sendAfter(1, Buffer.from('b'), end('b'))
  silence.readAfter(1, end('c').run)
  await until(() => seen.length === 1)
  silence.sendAfter(1, Buffer.from('d'), end('d'))
  silence.sendAfter(2, Buffer.from('e'), end('e'))
  await until(() => seen.length === 2)
  await until(() => far.length === 1)
  t.equal(String(far.bytes()), 'e')
  silence.sendAfter(1, Buffer.from('f'), end('f'))
  await channel.close()
  await new Promise((resolve) => setTimeout(resolve, 10))
  t.same(seen, ['c: not sent', 'e: sent 1'])
  t.equal(far.length, 1)
})

t.test('bytes that the driver has no room for are told, for others to write', async (t) => {
  const { channel, end, seen } = await bench(t)
  const much = Buffer.alloc(300_000, 'x')
  channel.silence.sendAfter(0.5, much, end())
  await until(() => seen.length === 1)
  const taken = Number(seen[0]?.replace('request: sent ', ''))
  t.ok(taken > 0 && taken < much.length, `${taken} bytes`)
})
