/** Tests of the contact between a page and its daemon. */
import t from 'tap'
import { contactFailed, contactKept, RETRY_MS } from '#kit/web/contact.ts'

t.test('waits longer after each failed try, and never longer than the longest wait', async (t) => {
  let contact = contactKept(1000)
  const waits: number[] = []
  for (let tries = 0; tries < 6; tries++) {
    contact = contactFailed(contact, 2000)
    waits.push(contact.nextTryAt - 2000)
  }
  t.same(waits, [...RETRY_MS, RETRY_MS.at(-1), RETRY_MS.at(-1)])
})

t.test('remembers when the daemon last answered, until it answers again', async (t) => {
  const lost = contactFailed(contactFailed(contactKept(1000), 3000), 5000)
  t.equal(lost.isLost, true)
  t.equal(lost.lastGoodAt, 1000)
  t.same(contactKept(9000), { isLost: false, lastGoodAt: 9000, nextTryAt: 0, tries: 0 })
})
