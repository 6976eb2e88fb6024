/** Tests of web/socket.ts: a socket that is kept open, in a fake browser. */
import t, { type Test } from 'tap'
import { until } from '#kit/test/until.ts'
import { contact, contactFailed, contactKept } from '#kit/web/contact.ts'
import { keepSocket } from '#kit/web/socket.ts'

/** What the page keeps of a socket. */
interface Far {
  url: string
  isClosed: boolean
  onopen?: () => void
  onmessage?: (event: { data: string }) => void
  onclose?: () => void
}

/** Tickets are issued while the browser is online. @returns the sockets that were opened */
function browser(t: Test): { opened: Far[]; state: { isOnline: boolean } } {
  const opened: Far[] = []
  const state = { isOnline: true }
  class FakeSocket implements Far {
    url: string
    isClosed = false
    constructor(url: URL) {
      this.url = String(url)
      opened.push(this)
    }
    close(): void {
      this.isClosed = true
    }
  }
  t.intercept(globalThis, 'WebSocket', { value: FakeSocket })
  t.intercept(globalThis, 'location', { value: new URL('http://box.local/#/zones') })
  t.intercept(globalThis, 'fetch', {
    value: async () => {
      if (!state.isOnline) throw new TypeError('no network')
      return new Response(JSON.stringify({ ticket: `t${opened.length}` }))
    },
  })
  t.teardown(() => {
    contact.value = contactKept(Date.now())
  })
  return { opened, state }
}

t.test('is opened with a ticket, and again after a cut', async (t) => {
  const { opened } = browser(t)
  const heard: unknown[] = []
  let ends = 0
  const kept = keepSocket({
    begin: () => heard.push('begin'),
    hear: (message) => heard.push(message),
    end: () => ends++,
  })
  await until('it is opened', () => opened.length === 1)
  t.equal(opened[0]?.url, 'ws://box.local/ws?ticket=t0')
  opened[0]?.onopen?.()
  opened[0]?.onmessage?.({ data: '{"a":1}' })
  t.same(heard, ['begin', { a: 1 }])
  opened[0]?.onclose?.()
  t.equal(ends, 1)
  back()
  await until('it is opened again', () => opened.length === 2)
  kept.close()
})

/** Contact is lost and comes back. */
function back(): void {
  contact.value = contactFailed(contact.value, Date.now())
  contact.value = contactKept(Date.now())
}

t.test('is opened at once when contact is back', async (t) => {
  const { opened, state } = browser(t)
  state.isOnline = false
  let ends = 0
  const kept = keepSocket({ begin: () => {}, hear: () => {}, end: () => ends++ })
  await until('it was tried', () => ends === 1)
  state.isOnline = true
  await turns()
  t.equal(opened.length, 0, 'the next automatic try is a second away')
  back()
  await turns()
  t.equal(opened.length, 1)
  kept.close()
  back()
  await turns()
  t.equal(opened.length, 1, 'a closed socket stays closed')
})

/** Lets pending messages arrive: the fake browser answers without real waiting. */
async function turns(): Promise<void> {
  for (let turn = 0; turn < 5; turn++) await new Promise((resolve) => setImmediate(resolve))
}

t.test('gets nothing from a socket that the page has closed', async (t) => {
  const { opened } = browser(t)
  const heard: unknown[] = []
  const kept = keepSocket({ begin: () => {}, hear: (message) => heard.push(message) })
  await until('it is opened', () => opened.length === 1)
  kept.close()
  t.ok(opened[0]?.isClosed)
  opened[0]?.onmessage?.({ data: '{"late":true}' })
  t.same(heard, [])
})
