/* A Modbus RTU master on libmodbus, driven by lines on stdin: libmodbus-master DEVICE TIMEOUT_MS.
 * A line is UNIT FUNCTION NUMBERS...: for 1 to 4 address quantity, for 5 and 6 address value, for 15 and 16 address
 * values, for 22 address and-mask or-mask, for 23 address quantity write-address values. Each is answered by one line:
 * "= values" or "! what libmodbus says". Prints "ready" once the line is open. */
#include <errno.h>
#include <modbus.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOST = 2010 };

static int ask(modbus_t *line, int function, const int *in, int count, uint16_t *words, int *found)
{
    uint8_t bits[MOST];
    int address = in[0], values = count - 1;
    *found = 0;
    if (function == 1 || function == 2) {
        *found = function == 1 ? modbus_read_bits(line, address, in[1], bits)
                               : modbus_read_input_bits(line, address, in[1], bits);
        for (int at = 0; at < *found; at++) words[at] = bits[at];
        return *found;
    }
    if (function == 3) return *found = modbus_read_registers(line, address, in[1], words);
    if (function == 4) return *found = modbus_read_input_registers(line, address, in[1], words);
    if (function == 5) return modbus_write_bit(line, address, in[1]);
    if (function == 6) return modbus_write_register(line, address, (uint16_t)in[1]);
    if (function == 15) {
        for (int at = 0; at < values; at++) bits[at] = (uint8_t)in[1 + at];
        return modbus_write_bits(line, address, values, bits);
    }
    if (function == 16) {
        for (int at = 0; at < values; at++) words[at] = (uint16_t)in[1 + at];
        return modbus_write_registers(line, address, values, words);
    }
    if (function == 22) return modbus_mask_write_register(line, address, (uint16_t)in[1], (uint16_t)in[2]);
    if (function == 23) {
        uint16_t written[MOST];
        for (int at = 0; at < count - 3; at++) written[at] = (uint16_t)in[3 + at];
        return *found = modbus_write_and_read_registers(line, in[2], count - 3, written, address, in[1], words);
    }
    errno = EINVAL;
    return -1;
}

int main(int argc, char **argv)
{
    char text[16384];
    uint16_t words[MOST];
    if (argc != 3) return 2;
    modbus_t *line = modbus_new_rtu(argv[1], 19200, 'N', 8, 1);
    if (line == NULL) return 1;
    int timeout_ms = atoi(argv[2]);
    modbus_set_response_timeout(line, timeout_ms / 1000, timeout_ms % 1000 * 1000);
    if (modbus_connect(line) != 0) {
        fprintf(stderr, "%s\n", modbus_strerror(errno));
        return 1;
    }
    puts("ready");
    fflush(stdout);
    while (fgets(text, sizeof text, stdin) != NULL) {
        int numbers[MOST], count = 0, found;
        for (char *word = strtok(text, " \n"); word != NULL && count < MOST; word = strtok(NULL, " \n"))
            numbers[count++] = atoi(word);
        if (count < 4 || modbus_set_slave(line, numbers[0]) != 0) return 3;
        if (ask(line, numbers[1], numbers + 2, count - 2, words, &found) < 0) {
            printf("! %s\n", modbus_strerror(errno));
        } else {
            printf("=");
            for (int at = 0; at < found; at++) printf(" %u", words[at]);
            puts("");
        }
        fflush(stdout);
    }
    modbus_free(line);
    return 0;
}
