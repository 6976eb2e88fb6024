/** Saved messages. */
import { chmodSync } from 'node:fs'
import { t } from 'tap'
import { fakeClock } from '#kit/clock-fake.ts'
import { silentLog } from '#kit/log.ts'
import { createTalkMessages, type TalkMessage } from '../../../core/talk/messages.ts'
import { createReadAloud, openTalkMessages } from '../../../io/talk-files.ts'
import { writeWav } from '../../../wire/wav.ts'

const HALF = Int16Array.from({ length: 4000 }, (_, n) => (n % 100) * 100)
const limits = { messages: 2, seconds: 1 }

async function book(folder: string, { readAloud = async () => writeWav(HALF) } = {}) {
  let breaths = 0
  let next = 0
  const messages = createTalkMessages({
    ...{ clock: fakeClock(), ...(await openTalkMessages(folder, silentLog, limits.seconds)), readAloud, limits },
    newId: () => `0000000${next++}`,
    breathe: async () => void breaths++,
  })
  return { messages, breaths: () => breaths }
}

t.test('a message is there again after a restart, with its sound, and gone once it is deleted', async (t) => {
  const folder = t.testdir({})
  const { breaths, messages } = await book(folder)
  const { id } = await messages.addFile('Closed', writeWav(HALF))
  t.equal(breaths(), 10, 'others work twenty times in each of its seconds')
  const { id: spoken } = await messages.addSpeech('Gate', 'The gate is closed.', 'en')
  const { messages: again } = await book(folder)
  t.match(again.list(), [
    { id, name: 'Closed', source: 'file', text: null, seconds: 0.5 },
    { id: spoken, source: 'speech', text: 'The gate is closed.' },
  ] as TalkMessage[])
  t.equal((await again.soundOf(id)).length, 4000)
  await again.remove(id)
  t.throws(() => again.require(id), { code: 'unknown_message' })
  await t.rejects((await book(folder)).messages.soundOf(id), { code: 'unknown_message' })
})

t.test('too many, too long, empty and broken ones are refused, and nothing is kept of them', async (t) => {
  const { messages } = await book(t.testdir({}))
  await t.rejects(messages.addFile('x', writeWav(new Int16Array(8001))), {
    code: 'bad_sound',
    message: /talk\.message_s/,
  })
  await t.rejects(messages.addFile('x', writeWav(new Int16Array(0))), { code: 'bad_sound', message: /empty/ })
  await t.rejects(messages.addFile('x', new Uint8Array(5)), { code: 'bad_sound' })
  t.same(messages.list(), [])
  await Promise.all([messages.addFile('1', writeWav(HALF)), messages.addFile('2', writeWav(HALF))])
  await t.rejects(messages.addFile('3', writeWav(HALF)), { code: 'too_many_messages', message: /allows 2/ })
  await t.rejects(messages.addSpeech('3', 'x', 'en'), { code: 'too_many_messages' })
})

t.test('a machine that reads nothing aloud says what to install; a program that fails or hangs is ended', async (t) => {
  const clock = fakeClock()
  const using = (program: string) => createReadAloud({ clock, limitMs: 1000, mostSeconds: 1, program })
  await t.rejects(using('/nowhere/espeak-ng')('x', 'en'), { code: 'speech_missing', message: /install espeak-ng/ })
  await t.rejects(using('/bin/false')('x', 'xx'), { code: 'speech_failed', message: /no voice xx/ })
  const folder = t.testdir({ hangs: '#!/bin/sh\nexec sleep 60\n', floods: '#!/bin/sh\nexec cat /dev/zero\n' })
  for (const name of ['hangs', 'floods']) chmodSync(`${folder}/${name}`, 0o755)
  const hanging = using(`${folder}/hangs`)('x', 'en')
  clock.advance(1000)
  await t.rejects(hanging, { code: 'speech_failed', message: /took too long/ })
  await t.rejects(using(`${folder}/floods`)('x', 'en'), { code: 'bad_sound', message: /more than 1 s/ })
})
