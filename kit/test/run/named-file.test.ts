/** Tests of run/named-file.ts: what stands in the place of a file that somebody named. */
import { execFileSync } from 'node:child_process'
import { symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { type Test, t } from 'tap'
import { readNamed, whyUnread } from '../../run/named-file.ts'

function whyNot(path: string, mostBytes?: number): string {
  try {
    readNamed(path, mostBytes)
    return 'was read'
  } catch (cause) {
    return whyUnread(cause)
  }
}

function pipeOf(t: Test): string {
  const path = join(t.testdir(), 'pipe')
  execFileSync('mkfifo', [path])
  return path
}

t.test('a file is read, also by a link, and one of /proc that says it is empty', async (t) => {
  const file = join(t.testdir({ file: 'two words' }), 'file')
  symlinkSync(file, `${file}-link`)
  t.equal(readNamed(file, 9).toString(), 'two words')
  t.equal(readNamed(`${file}-link`).toString(), 'two words')
  t.match(readNamed('/proc/self/status').toString(), /^Name:/)
  writeFileSync(file, 'x'.repeat(200_000))
  t.equal(readNamed(file).length, 200_000)
})

t.test('a pipe that nobody writes to is not waited for, and a device not read', async (t) => {
  t.equal(whyNot(pipeOf(t)), 'it is a pipe, expected a file')
  t.equal(whyNot('/dev/zero'), 'it is a device, expected a file')
  t.equal(readNamed('/dev/null').length, 0, 'this one is an empty file to whoever names it')
  t.equal(whyNot(t.testdir()), 'EISDIR')
  t.equal(whyNot('/nowhere'), 'ENOENT')
})

t.test('a file that is larger than what is read of it is told by its size', async (t) => {
  const file = join(t.testdir({ file: '1234567890' }), 'file')
  t.equal(whyNot(file, 9), 'it has 10 bytes, expected at most 9')
  t.equal(whyNot('/proc/self/status', 100), 'it has more than 100 bytes, which is the most')
})
