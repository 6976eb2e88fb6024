/** Tests of core/macros/notices.ts: who gets a notice by mail, and what keeps macros from flooding people. */
import t from 'tap'
import { fakeClock } from '#kit/clock-fake.ts'
import { Fault } from '#kit/pure/fault.ts'
import type { Letter } from '../../../core/access/accounts.ts'
import { createNotices } from '../../../core/macros/notices.ts'
import type { Notice } from '../../../core/macros/ports.ts'
import { bookOf } from '../site/book-of.ts'
import { rig, say, start } from './macro-rig.ts'

const USERS = [
  { id: 1, username: 'ada', email: 'ada@example.org', enabled: true },
  { id: 2, username: 'olga', email: 'olga@example.org', enabled: true },
  { id: 3, username: 'dora', email: 'dora@example.org', enabled: false },
  { id: 4, username: 'theo', email: null, enabled: true },
]

function stage(send: (letter: Letter) => Promise<void> = async () => {}) {
  const clock = fakeClock()
  const letters: Letter[] = []
  const recorded: Notice[] = []
  const undelivered: string[] = []
  const notify = createNotices({
    ...{ clock, book: bookOf({ auth_user: USERS, macro: [{ id: 5, name: 'Leak' }] }) },
    postman: {
      send(letter) {
        letters.push(letter)
        return send(letter)
      },
    },
    record: (notice) => void recorded.push(notice),
    undelivered: ({ to }, { code }) => void undelivered.push(`${to} ${code}`),
    limits: { lettersPerHour: 3, letterMs: 60_000 },
  })
  const notice = (to: string[], more: Partial<Notice> = {}): Notice => ({
    ...{ text: 'water in the cellar', to, subject: null, macroId: 5, runId: 8, userId: null, ...more },
  })
  return { clock, letters, notice, notify, recorded, undelivered }
}

t.test('a notice is recorded, and mailed to each user that it names, once', async (t) => {
  const { letters, notice, notify, recorded } = stage()
  await notify(notice([]))
  await notify(notice(['ada', 'Olga', 'ada'], { subject: 'Leak!' }))
  t.equal(recorded.length, 2)
  t.match(letters, [
    { to: 'ada@example.org', subject: 'Leak!', text: 'water in the cellar\n', lifeMs: 60_000 },
    { to: 'olga@example.org' },
  ])
})

t.test('without a subject the letter names its macro', async (t) => {
  const { letters, notice, notify } = stage()
  await notify(notice(['ada']))
  t.equal(letters[0]?.subject, 'Notice of Leak')
})

t.test('nobody is mailed if one of the recipients cannot be', async (t) => {
  const { letters, notice, notify } = stage()
  for (const name of ['dora', 'theo', 'nobody', 'eve@example.org'])
    await t.rejects(notify(notice(['ada', name])), { code: 'notice_recipient', message: new RegExp(`"${name}"`) })
  t.equal(letters.length, 0)
})

t.test('macros send so many letters within an hour, and more later', async (t) => {
  const { clock, letters, notice, notify } = stage()
  await notify(notice(['ada', 'olga']))
  await t.rejects(notify(notice(['ada', 'olga'])), { code: 'notice_too_many' })
  await notify(notice(['ada']))
  clock.advance(3_600_000)
  await notify(notice(['ada', 'olga']))
  t.equal(letters.length, 5)
})

t.test('a letter that is refused at once fails the step; one that is still tried does not hold it up', async (t) => {
  const refusing = stage(async () => {
    throw new Fault('mail_not_set_up', 'no mail server')
  })
  await t.rejects(refusing.notify(refusing.notice(['ada'])), { code: 'mail_not_set_up' })
  const late = Promise.withResolvers<void>()
  const slow = stage(() => late.promise)
  const asked = slow.notify(slow.notice(['ada']))
  await slow.clock.run(1000)
  await asked
  late.reject(new Fault('mail_failed', 'no answer'))
  await slow.clock.run(1)
  t.same(slow.undelivered, ['ada mail_failed'])
})

t.test('a step says to whom and with which subject, one line long', async (t) => {
  const house = rig([
    {
      name: 'Tell',
      steps: [say('x', { args: { text: 'x', to: ['ada', '$' + '{args.who}'], subject: 'a\r\nBcc: b' } })],
    },
    { name: 'Bad', steps: [say('x', { args: { text: 'x', to: [3] } })] },
  ])
  const told: unknown[] = []
  house.ports.notify = async ({ to, subject }) => void told.push([to, subject])
  start(house, 1, { who: 'olga' })
  const bad = start(house, 2)
  await house.clock.run(10)
  t.same(told, [[['ada', 'olga'], 'a Bcc: b']])
  t.equal(bad.end?.code, 'macro_step_value')
  t.match(house.trace(1).entries[0]?.decided, { to: ['ada', 'olga'], subject: 'a Bcc: b' })
})
