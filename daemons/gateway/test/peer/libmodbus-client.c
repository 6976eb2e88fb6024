/* A Modbus TCP client on libmodbus: libmodbus-client PORT UNIT ROUNDS.
 * Reads and writes every table of a unit whose register n holds 100 * unit + n, and prints what is wrong.
 * Ends with 0 if nothing is. */
#include <errno.h>
#include <modbus.h>
#include <stdio.h>
#include <stdlib.h>

static int faults = 0;

static void want(const char *what, long got, long wanted)
{
    if (got == wanted) return;
    faults++;
    printf("%s: %ld, wanted %ld (%s)\n", what, got, wanted, modbus_strerror(errno));
}

int main(int argc, char **argv)
{
    if (argc != 4) return 2;
    int unit = atoi(argv[2]), rounds = atoi(argv[3]);
    modbus_t *line = modbus_new_tcp("127.0.0.1", atoi(argv[1]));
    if (line == NULL || modbus_set_slave(line, unit) != 0 || modbus_set_response_timeout(line, 10, 0) != 0 ||
        modbus_connect(line) != 0) {
        printf("%s\n", modbus_strerror(errno));
        return 1;
    }
    uint16_t words[125], two[2] = {4711, 815};
    uint8_t bits[16], pattern[5] = {1, 0, 1, 1, 0};
    for (int round = 0; round < rounds; round++) {
        int at = round % 40;
        want("registers read", modbus_read_registers(line, at, 10, words), 10);
        for (int n = 0; n < 10; n++) want("register", words[n], 100 * unit + at + n);
    }
    want("register written", modbus_write_register(line, 60, 1234), 1);
    want("registers written", modbus_write_registers(line, 61, 2, two), 2);
    want("registers read", modbus_read_registers(line, 60, 3, words), 3);
    want("register 60", words[0], 1234);
    want("register 61", words[1], 4711);
    want("register 62", words[2], 815);
    want("mask written", modbus_mask_write_register(line, 61, 0x00f2, 0x0025), 1);
    want("register masked", modbus_read_registers(line, 61, 1, words), 1);
    want("register 61", words[0], (4711 & 0x00f2) | (0x0025 & ~0x00f2));
    want("written and read", modbus_write_and_read_registers(line, 62, 1, two, 61, 2, words), 2);
    want("register 62", words[1], 4711);
    want("coil written", modbus_write_bit(line, 0, 1), 1);
    want("coils written", modbus_write_bits(line, 1, 5, pattern), 5);
    want("coils read", modbus_read_bits(line, 0, 6, bits), 6);
    for (int n = 0; n < 6; n++) want("coil", bits[n], n == 0 ? 1 : pattern[n - 1]);
    want("beyond the last register", modbus_read_registers(line, 99, 2, words), -1);
    want("its exception", errno, EMBXILADD);
    modbus_close(line);
    modbus_free(line);
    puts(faults == 0 ? "all right" : "not all right");
    return faults == 0 ? 0 : 1;
}
