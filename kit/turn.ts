/** Changes that run one after another: two that cross would each save without the other. */

/** Runs a change after those before it, whatever came of them. */
export type InTurn = <Result>(change: () => Promise<Result>) => Promise<Result>

export function createTurn(): InTurn {
  let turn: Promise<unknown> = Promise.resolve()
  return (change) => {
    const mine = turn.then(change)
    turn = mine.catch(() => {})
    return mine
  }
}
