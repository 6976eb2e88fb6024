import fc from 'fast-check'
import t from 'tap'
import { Fault } from '#kit/pure/fault.ts'
import { helperLine, openHelperAnswer } from '../../wire/helper-line.ts'

t.test('a request is its words and a line end', async (t) => {
  t.equal(helperLine('reboot'), 'reboot\n')
  t.equal(
    helperLine('network', ['static', 'eth0', '10.0.0.7/24', '10.0.0.1']),
    'network static eth0 10.0.0.7/24 10.0.0.1\n',
  )
})

t.test('no word can become two, or a second line', async (t) => {
  for (const word of ['', 'a b', 'a\nreboot', 'é', '\0'])
    t.throws(
      () => helperLine('hostname', [word]),
      { code: 'helper_refused', details: { reason: 'bad_request' } },
      JSON.stringify(word),
    )
})

t.test('an answer is opened', async (t) => {
  t.equal(openHelperAnswer('ok\n'), '')
  t.equal(openHelperAnswer('ok is bound already\n'), 'is bound already')
  t.throws(() => openHelperAnswer('error busy 1-1 is in use by another host\n'), {
    code: 'helper_refused',
    message: /1-1 is in use by another host$/,
    details: { reason: 'busy' },
  })
})

t.test('whatever the answer, there is a text or a Fault', async (t) => {
  const anything = fc.oneof(
    fc.string(),
    fc.string().map((text) => `ok ${text}\n`),
    fc.string().map((text) => `error ${text}\n`),
  )
  fc.assert(
    fc.property(anything, (line) => {
      try {
        return /^[ -~]*$/.test(openHelperAnswer(line))
      } catch (error) {
        return error instanceof Fault && error.code === 'helper_refused'
      }
    }),
  )
  t.throws(() => openHelperAnswer(''), { code: 'helper_refused' })
  t.throws(
    () => openHelperAnswer('ok'),
    { code: 'helper_refused', message: /neither ok nor/ },
    'a line without an end was cut',
  )
})
