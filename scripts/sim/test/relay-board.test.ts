import t from 'tap'
import { relayBoard } from '../relay-board.ts'
import { ask } from './ask-unit.ts'

t.test('relays are coils 0 to 7, inputs follow them, coil 255 is all of them', async (t) => {
  const board = relayBoard(2)
  const relays = { address: 0, quantity: 8 }
  ask(board, { fc: 5, address: 2, quantity: 1, values: [1] })
  t.same(ask(board, { fc: 1, ...relays }).values, [0, 0, 1, 0, 0, 0, 0, 0])
  t.same(ask(board, { fc: 2, ...relays }).values, [0, 0, 1, 0, 0, 0, 0, 0])
  ask(board, { fc: 5, address: 255, quantity: 1, values: [1] })
  t.same(ask(board, { fc: 1, ...relays }).values, [1, 1, 1, 1, 1, 1, 1, 1])
  ask(board, { fc: 15, address: 4, quantity: 3, values: [0, 1, 0] })
  t.same(ask(board, { fc: 2, ...relays }).values, [1, 1, 1, 1, 0, 1, 0, 1])
  t.equal(ask(board, { fc: 1, address: 1, quantity: 8 }).exception, 2)
})

t.test('its address can be changed, its version cannot', async (t) => {
  const board = relayBoard(2)
  t.same(ask(board, { fc: 3, address: 0x4000, quantity: 1 }).values, [2])
  t.same(ask(board, { fc: 3, address: 0x8000, quantity: 1 }).values, [200])
  t.equal(ask(board, { fc: 6, address: 0x8000, quantity: 1, values: [1] }).exception, 2)
  t.equal(ask(board, { fc: 6, address: 0x4000, quantity: 1, values: [9] }).exception, null)
})
