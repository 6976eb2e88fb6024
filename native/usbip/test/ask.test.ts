/** Questions on a unix socket, with a descriptor or without. */
import { openSync } from 'node:fs'
import t from 'tap'
import { askWithFd } from '../index.ts'
import { startProgram } from './asked-program.ts'

const BOUNDS = { timeoutMs: 5000, mostBytes: 4096 }

t.test('brings a line there and the answer back', async (t) => {
  const path = await startProgram(t)
  t.equal(await askWithFd(path, 'count\n', undefined, BOUNDS), 'ok 0\n')
})

t.test('takes one descriptor along, of which it has a copy at once', async (t) => {
  const path = await startProgram(t)
  const { closeSync } = await import('node:fs')
  const fd = openSync('/dev/null', 'r')
  const asked = askWithFd(path, 'count\n', fd, BOUNDS)
  closeSync(fd)
  t.equal(await asked, 'ok 1\n')
})

t.test('many questions at once are answered, where only one may wait to be accepted', async (t) => {
  const path = await startProgram(t)
  const answers = await Promise.all(Array.from({ length: 20 }, () => askWithFd(path, 'count\n', 0, BOUNDS)))
  t.same(new Set(answers), new Set(['ok 1\n']))
})

t.test('names call, errno and path where nobody listens', async (t) => {
  await t.rejects(askWithFd('/nonexistent/socket', 'count\n', undefined, BOUNDS), {
    code: 'ENOENT',
    syscall: 'connect',
    path: '/nonexistent/socket',
  })
  await t.rejects(askWithFd(`/${'x'.repeat(200)}`, 'count\n', undefined, BOUNDS), { code: 'ENAMETOOLONG' })
})

t.test('refuses a descriptor that is none', (t) => {
  t.throws(() => askWithFd('/nonexistent/socket', 'count\n', 9999, BOUNDS), { code: 'EBADF', syscall: 'fcntl' })
  t.end()
})

t.test('waits no longer than it may', async (t) => {
  const path = await startProgram(t)
  await t.rejects(askWithFd(path, 'silence\n', undefined, { timeoutMs: 200, mostBytes: 100 }), { code: 'ETIMEDOUT' })
})

t.test('takes no answer that is longer than allowed', async (t) => {
  const path = await startProgram(t)
  await t.rejects(askWithFd(path, 'long\n', undefined, BOUNDS), { code: 'EMSGSIZE', syscall: 'recv' })
})
