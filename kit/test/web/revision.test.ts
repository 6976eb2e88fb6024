import t from 'tap'
import { CallFault } from '../../web/call.ts'
import { createRevision } from '../../web/revision.ts'

const meanwhile = (revision: string | null) =>
  new CallFault(412, { error: 'changed_meanwhile', message: 'x', revision })

t.test('a save is sent with the revision read, the next one with the revision of that save', async (t) => {
  const form = createRevision('one')
  const sent: unknown[] = []
  const save = (next: string) =>
    form.save(async (ifMatch) => {
      sent.push(ifMatch)
      return { revision: next }
    })
  await save('two')
  await save('three')
  t.same(sent, ['one', 'two'])
})

t.test('if somebody else was quicker the user is told, and the next save replaces the present state', async (t) => {
  const form = createRevision('one')
  const refused = form.save(() => Promise.reject(meanwhile('theirs')))
  await t.rejects(refused, {
    code: 'changed_meanwhile',
    message: /what you typed is still here\. Save again to replace/,
  })
  t.same(await form.save(async (ifMatch) => ({ revision: 'mine', ifMatch })), { revision: 'mine', ifMatch: 'theirs' })
})

t.test('a missing resource is reported as removed; a new one is saved without a revision', async (t) => {
  await t.rejects(
    createRevision('one').save(() => Promise.reject(meanwhile(null))),
    { message: /removed this in the meantime/ },
  )
  t.match(await createRevision(null).save(async (ifMatch) => ({ revision: 'a', ifMatch: `${ifMatch}` })), {
    ifMatch: 'undefined',
  })
})

t.test('any other refusal is passed on unchanged', async (t) => {
  const other = new CallFault(400, { error: 'bad_fields', message: 'x' })
  const form = createRevision('one')
  await t.rejects(
    form.save(() => Promise.reject(other)),
    other,
  )
  t.match(await form.save(async (ifMatch) => ({ revision: 'b', ifMatch })), { ifMatch: 'one' })
})
