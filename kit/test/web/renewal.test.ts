/** Tests of web/call.ts. */
import t from 'tap'
import { createRenewal } from '../../web/call.ts'

t.test('a refused call continues once somebody has signed in, and the dialog is there until then', async (t) => {
  const renewal = createRenewal()
  t.notOk(renewal.isSignedOut.value)
  const both = Promise.all([renewal.wait(), renewal.wait()])
  t.ok(renewal.isSignedOut.value)
  renewal.done()
  t.notOk(renewal.isSignedOut.value)
  await both
})

t.test('a call that waits when the page is left never continues', async (t) => {
  const renewal = createRenewal()
  let hasGoneOn = false
  void renewal.wait().then(() => {
    hasGoneOn = true
  })
  renewal.drop()
  t.notOk(renewal.isSignedOut.value)
  const next = renewal.wait()
  renewal.done()
  await next
  t.notOk(hasGoneOn)
})
