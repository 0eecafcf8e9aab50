#define UNIT 1

int area(int width, int height);
