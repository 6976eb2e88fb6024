/** Sends what a hand moves: one at a time, and of what comes meanwhile the last. */

/** @returns what takes the next value; what failed is thrown at `refuse`, and what waited is dropped then */
export function sendLatest<Value>(
  send: (value: Value) => Promise<void>,
  refuse: (thrown: unknown) => void,
): (value: Value) => void {
  let waiting: { value: Value } | undefined
  let isSending = false
  async function run(): Promise<void> {
    isSending = true
    try {
      for (let next = waiting; next; next = waiting) {
        waiting = undefined
        await send(next.value)
      }
    } catch (thrown) {
      waiting = undefined
      refuse(thrown)
    }
    isSending = false
  }
  return (value) => {
    waiting = { value }
    if (!isSending) void run()
  }
}
