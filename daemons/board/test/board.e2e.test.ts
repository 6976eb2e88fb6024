import t from 'tap'
import { startBoard } from './running-board.ts'

t.test('B.endpoints a board that was just flashed says what it is, and shows its page', async (t) => {
  const board = await startBoard(t)
  const { status, body } = await board.get('/api/status')
  t.equal(status, 200)
  t.equal(body.role, 'serial')
  t.type(body.uptime_s, 'number')
  t.match((await board.get('/')).body, /<title>Plantroom board/)
})

t.test('B.endpoints a path of another role is 409 and names the role', async (t) => {
  const board = await startBoard(t, { sets: ['board.role=usbip'] })
  const { status, body } = await board.get('/api/serial')
  t.equal(status, 409)
  t.equal(body.error, 'other_role')
})
