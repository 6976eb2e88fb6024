import t from 'tap'
import { askFromMany, holdHalfOpen } from '#kit/test/http/half-open.ts'
import { startBoard } from './running-board.ts'

t.test('B.endpoints a freshly flashed board says what it is, and shows its page', async (t) => {
  const board = await startBoard(t)
  const { status, body } = await board.get('/api/status')
  t.equal(status, 200)
  t.equal(body.role, 'serial')
  t.type(body.uptime_s, 'number')
  t.match((await board.get('/')).body, /<title>Plantroom board/)
  await t.test('300 half-open requests of one address keep nobody else out', async (t) => {
    await holdHalfOpen(t, board.url, { times: 300, from: '127.0.0.9' })
    t.equal(await askFromMany(`${board.url}/api/status`, 294), 294)
  })
})

t.test('B.endpoints a path of another role is 409 and names the role', async (t) => {
  const board = await startBoard(t, { sets: ['board.role=usbip'] })
  const { status, body } = await board.get('/api/serial')
  t.equal(status, 409)
  t.equal(body.error, 'other_role')
})
