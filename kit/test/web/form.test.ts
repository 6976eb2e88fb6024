/** Tests of forms: where a refusal is shown, and how typed numbers are read. */
import t from 'tap'
import { CallFault } from '#kit/web/call.ts'
import { createForm, sortFaults, typedNumber } from '#kit/web/form.ts'

function refused(fields: { field: string; message: string }[]): CallFault {
  return new CallFault(400, { error: 'bad_fields', message: 'Two fields are refused.', fields })
}

t.test('shows every fault at its field, as a sentence', async (t) => {
  const thrown = refused([
    { field: 'line.baud', message: 'is text "quick", expected a whole number' },
    { field: 'headers.X-Key', message: 'has a line break.' },
    { field: 'line.rs485', message: 'is refused by the driver' },
  ])
  const { faults, refusal } = sortFaults(thrown, ['line.baud', 'headers', 'line.rs485.delay_before_send_ms'])
  t.same(faults, {
    'line.baud': 'Is text "quick", expected a whole number.',
    headers: 'Has a line break.',
    'line.rs485.delay_before_send_ms': 'Is refused by the driver.',
  })
  t.equal(refusal, '')
})

t.test('shows faults that belong to no field for the whole form', async (t) => {
  t.equal(sortFaults(refused([{ field: 'colour', message: 'is not known' }]), ['url']).refusal, 'colour: is not known')
  t.equal(sortFaults(new Error('No answer.'), ['url']).refusal, 'No answer.')
})

t.test('sends numbers as numbers, and leaves the rest for the API to refuse', async (t) => {
  t.equal(typedNumber(' 115 200 '), 115_200)
  t.equal(typedNumber('-1.5'), -1.5)
  t.equal(typedNumber('quick'), 'quick')
  t.equal(typedNumber(''), '')
  t.equal(typedNumber('1e3'), '1e3')
})

t.test('marks what was changed until it is saved', async (t) => {
  const form = createForm({ name: 'a' }, 'edit')
  form.set('name', 'b')
  t.equal(form.isChanged('name'), true)
  t.equal(await form.submit(async () => form.settle()), true)
  t.equal(form.isChanged('name'), false)
})

t.test('holds edits from the first one until they are saved or undone', async (t) => {
  const form = createForm({ name: 'a' }, 'draft')
  t.equal(form.hasChanges(), false)
  form.set('name', 'b')
  t.equal(form.hasChanges(), true)
  form.set('name', 'a')
  t.equal(form.hasChanges(), false)
  form.set('name', 'c')
  const saving = form.submit(async () => {
    t.equal(form.hasChanges(), false, 'nothing is lost while it is being saved')
  })
  t.equal(await saving, true)
  t.equal(form.hasChanges(), false)
})
